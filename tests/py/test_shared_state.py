# SPDX-License-Identifier: Apache-2.0
"""Programs about state that several names or calls share: iterators, defaults, closures, views, gradients, hooks, the generator. Each runs several
times as it is, in arms, loops, callees and recursions; decorated ones must return, log, print and raise the same, also from what earlier calls left."""
import contextlib
import io

import pytest

import janus
from texts import names_of

STATE = """
import itertools, functools, contextlib, io
log=[]
class Box: pass
class Src:
    def __init__(self,n): self.n=n; self.i=0
    def __iter__(self): return self
    def __next__(self):
        self.i+=1
        if self.i>self.n: raise StopIteration
        return self.i
class Desc:
    def __get__(self,o,t):
        log.append('get'); return o.__dict__.get('_v',2.)
    def __set__(self,o,v):
        log.append('set'); o.__dict__['_v']=v
class GA:
    def __init__(self): self.n=0
    def __getattr__(self,name):
        if name.startswith('__'): raise AttributeError(name)
        self.n+=1; log.append(name); return self.n*1.0
class CP:
    k=0
    @functools.cached_property
    def c(self):
        CP.k+=1; log.append('c'); return CP.k*1.0
class Sh:
    w=2.0
    def __init__(self): pass
class Ctx:
    def __init__(self): self.d=0
    def __enter__(self): self.d+=1; log.append(('in',self.d)); return self
    def __exit__(self,*a): log.append(('out',self.d,a[0] and a[0].__name__)); self.d-=1; return self.d>=self.sw
    sw=9
def gen(n):
    got=0
    try:
        for i in range(n):
            r=yield i+got
            if r is not None: got=r
    except ValueError as e:
        log.append('thrown'); yield 99
    finally:
        log.append('closed')
def first(x, seen=[]):
    seen.append(1); return x*len(seen)
@functools.lru_cache(None)
def cached(i):
    log.append(('cached',i)); return i*1.5
B=Box(); B.g=None; B.n=0; B.w=janus.ones(3); B.s=Sh(); B.cp=CP(); B.ga=GA(); B.ctx=Ctx(); B.t=janus.arange(6.)
class HasD: v=Desc()
B.hd=HasD()
B.p=janus.ones(3,requires_grad=True)
"""
OF_PYTHON = {
    "g send in loop": "g=gen(5)\nfor i in g:\n    x=x+i\n    if i==1: x=x+g.send(10)",
    "g throw": "g=gen(5)\nfor i in g:\n    x=x+i\n    if i==1: x=x*g.throw(ValueError('a'))",
    "g close": "g=gen(5)\nfor i in g:\n    x=x+i\n    if i==1: g.close()",
    "B.g shared": "B.g=gen(6)\nfor i in B.g:\n    x=x+i+take()",
    "g by callee": "g=gen(6)\nx=x+drain(g)\nfor i in g: x=x*2+i",
    "g held": "if B.g is None: B.g=gen(30)\nx=x+next(B.g)\nx=x*next(B.g,0.)",
    "g held for": "if B.g is None: B.g=gen(30)\nfor i in B.g:\n    x=x+i\n    if i%3==2: break",
    "zip shared": "s=iter(range(7))\nfor a,b in zip(s,s): x=x+a*b",
    "zip shared2": "s=Src(7)\nfor a,b in zip(s,s): x=x+a*b\nx=x*s.i",
    "zip uneven": "s=iter(range(5)); t=iter(range(9))\nfor a,b in zip(s,t): x=x+a*b\nx=x+next(t)",
    "zip uneven2": "s=iter(range(5)); t=iter(range(9))\nfor b,a in zip(t,s): x=x+a*b\nx=x+next(t)",
    "enumerate shared": "e=enumerate(range(8))\nfor i,a in e:\n    x=x+i\n    j,b=next(e,(0,0)); x=x*(j+1)",
    "map shared": "s=iter([1.,2.,3.,4.,5.])\nm=map(lambda a:a*2,s)\nfor a in m:\n    x=x+a\n    x=x*next(s,1.)",
    "filter shared": "s=iter(range(9))\nm=filter(lambda a:a%2,s)\nfor a in m:\n    x=x+a\n    x=x+next(s,0)",
    "islice shared": "s=iter(range(9))\nfor a in itertools.islice(s,3): x=x+a\nfor a in s: x=x*2+a",
    "islice src": "s=Src(9)\nfor a in itertools.islice(s,3): x=x+a\nfor a in s: x=x*2+a",
    "tee": "s=iter(range(5))\na,b=itertools.tee(s)\nfor u in a: x=x+u\nx=x+next(s,7)\nfor u in b: x=x*2+u",
    "chain": "s=iter(range(4))\nfor u in itertools.chain(s,s,range(2)): x=x*2+u",
    "chain iter": "s=iter([[1,2],[3]])\nfor u in itertools.chain.from_iterable(s):\n    x=x*2+u\n    for v in next(s,[]): x=x-v",
    "gen over list mutated": "l=[1,2,3]\ng=(a for a in l)\nfor a in g:\n    x=x+a\n    if len(l)<6: l.append(a*2)",
    "rev list": "l=[1,2,3,4]\nr=reversed(l)\nfor a in r:\n    x=x+a\n    if l: l.pop()",
    "iter list popped": "l=[1,2,3,4]\nfor a in l:\n    x=x+a\n    l.pop(0)",
    "iter list insert": "l=[1,2,3,4]\nit=iter(l)\nx=x+next(it)\nl.insert(0,9)\nfor a in it: x=x*2+a",
    "sentinel": "s=[3,2,1,0,5]\nf=lambda: s.pop(0)\nfor a in iter(f,0):\n    x=x+a\nx=x+f()",
    "sentinel2": "s=[3,2,4,1,0,5]\nf=lambda: s.pop(0)\nfor a in iter(f,0):\n    x=x+a\n    if a==2: x=x*f()",
    "stringio": "f=io.StringIO('1\\n2\\n3\\n4\\n')\nfor l in f:\n    x=x+float(l)\n    x=x*float(f.readline() or 1)",
    "dict view grows": "d={'a':1.,'b':2.}\nk=d.keys(); v=d.values(); it=d.items()\nd['c']=3.\nfor a in v: x=x+a\nx=x*len(k)\ndel d['a']\nfor a,b in it: x=x*2+b",
    "dict changed size": "d={'a':1.,'b':2.}\ntry:\n    for k in d:\n        x=x+d[k]\n        d[k+'z']=1.\nexcept RuntimeError as e: log.append(str(e))",
    "dict values set": "d={'a':1.,'b':2.}\nfor k,v in d.items():\n    x=x+v\n    d['b']=5.",
    "view or": "d={'a':1.,'b':2.}; k=d.keys()\ne={'b':1,'c':2}\nu=sorted(k|e.keys())\nd['q']=1\nx=x*len(k&e.keys())+len(u)",
    "exc context": "try:\n    try: {}['q']\n    except KeyError: [][1]\nexcept IndexError as e:\n    x=x*(2 if isinstance(e.__context__,KeyError) else 3); B.e=e",
    "exc args": "try: raise ValueError(x.sum())\nexcept ValueError as e: x=x+e.args[0]",
    "exc reraise": "try:\n    try: raise ValueError(1)\n    finally: x=x*2; log.append('f')\nexcept ValueError as e: x=x+e.args[0]\nlog.append(len(log))",
    "exc name gone": "e=5\ntry: raise ValueError(1)\nexcept ValueError as e: x=x+1\ntry: x=x+e\nexcept UnboundLocalError: log.append('gone')",
    "ctx reenter": "with B.ctx:\n    with B.ctx as c: x=x*c.d\n    x=x+B.ctx.d",
    "ctx exit stack": "with contextlib.ExitStack() as s:\n    s.callback(log.append,'a'); s.enter_context(B.ctx); x=x*B.ctx.d\nx=x+B.ctx.d",
    "ctx suppress": "with contextlib.suppress(KeyError):\n    x=x*2; {}['a']; x=x*3\nx=x+1",
    "ctx gen": "with cm(3) as v: x=x*v\nwith cm(4) as v: x=x*v",
    "default mutable": "x=first(x)+first(x)",
    "default own": "x=own(x)",
    "class attr shadow": "x=x*B.s.w\nB.s.w=B.s.w+1 if B.n%2 else 2.0\nx=x+B.s.w\nB.n+=1\nif B.n%3==0: del B.s.w\nx=x*B.s.w",
    "class attr shadow loop": "s=Sh()\nfor i in range(4):\n    x=x*s.w\n    if i==1: s.w=5.0\n    if i==2: del s.w",
    "class attr change": "for i in range(3):\n    x=x*Sh.w; Sh.w=Sh.w+1\nSh.w=2.0",
    "closure loop": "fs=[]\nfor i in range(3): fs.append(lambda y: y*i+1)\nfor f in fs: x=f(x)",
    "closure loop default": "fs=[]\nfor i in range(3): fs.append(lambda y,i=i: y*i+1)\nfor f in fs: x=f(x)",
    "closure later": "k=1\nf=lambda y: y*k\nx=f(x); k=3; x=f(x)",
    "closure comp": "fs=[lambda y: y+i for i in range(3)]\nfor f in fs: x=f(x)",
    "closure genexp": "k=2\ng=(i*k for i in range(3))\nk=5\nfor a in g: x=x+a",
    "nonlocal": "c=0\ndef bump():\n    nonlocal c; c+=1; return c\nfor i in range(3): x=x*bump()\nx=x+c",
    "nonlocal key": "c=[]\ndef key(a): c.append(a); return -a\nl=sorted([3,1,2],key=key)\nx=x*l[0]+len(c)",
    "descriptor": "x=x*B.hd.v\nB.hd.v=B.hd.v+1 if B.hd.v<5 else 2.\nx=x+B.hd.v",
    "getattr": "x=x*B.ga.q+B.ga.q",
    "cached prop": "x=x*B.cp.c\nB.n+=1\nif B.n%3==0: del B.cp.c\nx=x+B.cp.c",
    "lru": "x=x*cached(B.n%3); B.n+=1\nif B.n%4==0: cached.cache_clear()",
    "lru info": "x=x*cached(2)+cached.cache_info().hits",
    "partial": "p=functools.partial(first,x)\nx=p()+p()",
    "reduce": "s=iter(range(5))\nx=x*functools.reduce(lambda a,b:a+b,itertools.islice(s,3))+next(s)",
    "global box": "B.n+=1\nx=x*B.n\ntouch()\nx=x*B.n",
    "star": "s=iter(range(5))\na,*b=s\nx=x*len(b)+next(s,8)",
    "unpack shared": "s=iter(range(6))\na,b=itertools.islice(s,2)\nx=x+a+b+sum(s)",
    "any all": "s=iter([0,1,0,2])\nr=any(s)\nx=x*(2 if r else 3)+sum(s)",
    "in iter": "s=iter([0,1,0,2])\nr=1 in s\nx=x*(2 if r else 3)+sum(s)",
    "max iter": "s=iter([3,1,2]); x=x+max(s)+sum(s)",
    "list twice": "s=iter([3,1,2]); x=x+len(list(s))+len(list(s))",
    "dict from": "s=zip('ab',iter([1.,2.])); d=dict(s); x=x*d['b']+len(list(s))",
    "join": "s=iter('abc'); t=''.join(s); x=x+len(t)+len(list(s))",
    "walrus": "s=[3,2,1]\nwhile s and (a:=s.pop())<3: x=x*a\nx=x+a+len(s)",
    "del item loop": "l=[1,2,3,4,5]\nfor i,a in enumerate(l):\n    x=x+a\n    if a%2: del l[i]",
    "slice assign": "l=[1,2,3,4]\nit=iter(l)\nnext(it)\nl[:]=[7,8,9]\nfor a in it: x=x*2+a",
    "sort during": "l=[3,1,2]\nfor a in l:\n    x=x*2+a\n    l.sort()",
    "list alias": "l=[1,2]; m=l; m+=[3]; x=x*len(l)\nl=l+[4]; x=x+len(m)",
    "tuple aug": "t=([1],); \ntry: t[0]+=[2]\nexcept TypeError: log.append('te')\nx=x*len(t[0])",
    "set pop": "s={1,2,3}; s.discard(2); x=x*len(s)\nt=s; t|={9}; x=x+len(s)",
    "match": "match B.n%3:\n    case 0: x=x*2\n    case 1 if x.sum()>0: x=x*3\n    case _: x=x-1\nB.n+=1",
    "gen return": "def g():\n    r=yield from gen(3)\n    return 7\nit=g()\nfor a in it: x=x+a",
    "gen close finally": "def g():\n    try:\n        yield 1\n        yield 2\n    finally: log.append('fin')\nfor a in g():\n    x=x+a; break\nx=x*2; log.append('after')",
}
OF_TENSORS = {
    "grad alias": "w=B.p; g=w.grad\n(w*x).sum().backward()\nx=x+w.grad\nlog.append(g is w.grad)\nif B.n%3==0: w.grad=None\nB.n+=1",
    "grad alias write": "w=B.p\nif w.grad is not None:\n    g=w.grad; g.mul_(0.5); x=x+g\n(w*x).sum().backward()\nx=x+w.grad",
    "grad shared": "w=B.p; w.grad=B.w; (w*x).sum().backward(); x=x+B.w",
    "grad swap": "w=B.p; (w*x).sum().backward(); g=w.grad; w.grad=None; (w*x*2).sum().backward(); x=x+g-w.grad; log.append(g is w.grad)",
    "out": "o=janus.zeros(3); janus.add(x,1,out=o); x=x*o\njanus.mul(x,2,out=o); x=x+o",
    "out self": "janus.add(x,1,out=x); x=x*2",
    "out held": "janus.add(x,1,out=B.w); x=x*B.w",
    "out view": "o=janus.zeros(6); janus.add(x,1,out=o[:3]); x=x*o.sum()",
    "req between": "w=janus.ones(3); y=w*x; w.requires_grad_(); z=w*x; log.append((y.requires_grad,z.requires_grad)); z.sum().backward(); x=x+w.grad",
    "req off": "w=B.p; y=w*x; w.requires_grad_(False); z=w*x; log.append((y.requires_grad,z.requires_grad)); w.requires_grad_(True); y.sum().backward(); x=x+w.grad",
    "view view": "a=janus.arange(12.).view(3,4); b=a[1:]; c=b.t(); c[0]=x[:2]; x=x*a.sum(); b.zero_(); x=x+c.sum()+a.sum()",
    "view held": "v=B.t[1:4]; v.add_(x); x=x+B.t[:3]; B.t.mul_(0.5); x=x+v",
    "view held2": "v=B.t.view(2,3); u=v[1]; u.copy_(x); x=x*B.t.sum(); B.t.fill_(1.); x=x+u",
    "data write": "w=B.p; y=(w*w*x).sum(); w.data.mul_(0.9); y.backward(); x=x+w.grad",
    "data view": "w=B.p; d=w.data; d[0]=5.; x=x*w.detach(); d.zero_(); d.add_(1); x=x+w.detach()",
    "detach share": "w=B.w; d=w.detach(); d.add_(1); x=x*w; w.mul_(0.5); x=x+d",
    "detach hist": "w=B.p; y=w*x; d=y.detach(); d.mul_(2); x=x+y.detach(); y.sum().backward(); x=x+w.grad",
    "detach need": "w=B.p; y=w*x; d=w.detach(); d.mul_(1.1); x=x+w.detach(); y.sum().backward(); x=x+w.grad",
    "clone": "y=x.clone(); y.add_(1); x=x+y; z=y; z.mul_(2); x=x-y",
    "rng fork": "s=janus.get_rng_state(); a=janus.rand(3); janus.set_rng_state(s); b=janus.rand(3); x=x+a-b+janus.rand(3)",
    "rng seed": "a=janus.rand(3); janus.manual_seed(5); b=janus.rand(3); x=x+a*b",
    "rng seed loop": "for i in range(3):\n    janus.manual_seed(i)\n    x=x+janus.rand(3)",
    "rng held": "if B.g is None: B.g=janus.get_rng_state()\njanus.set_rng_state(B.g); x=x+janus.rand(3)",
    "default dtype": "janus.set_default_dtype(janus.float64)\ntry: y=janus.ones(3)*2.; log.append(str(y.dtype))\nfinally: janus.set_default_dtype(janus.float32)\nx=x+y+janus.ones(3)",
    "default dtype callee": "setd(janus.float64); y=janus.zeros(3)+1; setd(janus.float32); x=x+y; log.append((str(y.dtype),str(x.dtype)))",
    "no_grad callee": "w=B.p\ny=ng(w,x); z=w*x; log.append((y.requires_grad,z.requires_grad)); z.sum().backward(); x=x+w.grad+y",
    "no_grad deco": "w=B.p\ny=ng2(w,x); log.append(y.requires_grad); x=x+y",
    "set_grad callee": "w=B.p\njanus.set_grad_enabled(False); y=w*x; janus.set_grad_enabled(True); z=w*x; log.append((y.requires_grad,z.requires_grad,janus.is_grad_enabled())); x=x+y+z.detach()",
    "set_grad callee2": "w=B.p\nsg(False); y=w*x; sg(True); z=w*x; log.append((y.requires_grad,z.requires_grad)); x=x+y+z.detach()",
    "enable in no": "w=B.p\nwith janus.no_grad():\n    with janus.enable_grad(): y=w*x\n    z=w*x\nlog.append((y.requires_grad,z.requires_grad)); x=x+z",
    "autocast callee": "w=janus.ones(3,3)\nwith janus.autocast('cpu'): y=mm(w,x)\nz=mm(w,x); log.append((str(y.dtype),str(z.dtype))); x=x+z",
    "hook removed": "w=B.p; c=[]\nh=w.register_hook(lambda g: c.append(1))\n(w*x).sum().backward(); h.remove(); (w*x).sum().backward(); x=x*len(c)+w.grad",
    "hook rounds": "w=B.p; hs=[]\nfor i in range(4):\n    hs.append(w.register_hook(lambda g,i=i: g*(i+1)))\n    (w*x).sum().backward()\n    if i==2: hs[0].remove()\nx=x+w.grad\nfor h in hs: h.remove()",
    "hook nonlocal": "w=B.p; c=0\ndef hk(g):\n    nonlocal c; c+=1; return g*c\nh=w.register_hook(hk)\nfor i in range(3): (w*x).sum().backward(); x=x*1.0+c\nh.remove(); x=x+w.grad",
    "hook y": "w=B.p; y=w*x; c=[]\ny.register_hook(lambda g: c.append(float(g.sum()))); y.sum().backward(); x=x+c[0]; B.n+=len(c)",
    "hook changes held": "w=B.p\nh=w.register_hook(lambda g: touch())\n(w*x).sum().backward(); x=x*B.n; h.remove()",
    "hook grad written": "w=B.p\ndef hk(g): w.grad=None if w.grad is None else w.grad*0\nh=w.register_hook(hk); (w*x).sum().backward(); h.remove(); x=x+w.grad",
    "retain": "w=B.p; y=w*x; y.retain_grad(); (y*y).sum().backward(); x=x+y.grad+w.grad",
    "retain twice": "w=B.p; y=w*x; y.retain_grad(); l=(y*y).sum(); l.backward(retain_graph=True); a=y.grad; l.backward(); x=x+a; log.append(a is y.grad); x=x+y.grad",
    "grad fn": "w=B.p; y=(w*x).sum(); g,=janus.autograd.grad(y,[w]); x=x+g; log.append(w.grad is None)",
    "inplace leaf no_grad": "w=B.p\nwith janus.no_grad(): w.sub_(0.1*x); v=w*2\nx=x+v; (w*x).sum().backward(); x=x+w.grad",
    "inplace alias arg": "y=x; y.add_(1); x=x*2; x=x+y",
    "inplace expand": "a=janus.zeros(3,1); b=a.expand(3,3); a.add_(1); x=x+b.sum()",
    "index alias": "a=janus.zeros(3); b=a[janus.tensor([0,1])]; b.add_(5); x=x+a+b.sum(); a[janus.tensor([0,0])]=x[0]; x=x+a",
    "mask write": "m=x>2; x[m]=0.; x=x+m.sum()",
    "where write": "a=x.clone(); b=janus.where(a>2,a,a*0); a.zero_(); x=x+b",
    "swap": "a,b=x,x*2; a,b=b,a; a.add_(1); x=a+b",
    "tensor in list": "l=[x]*3; l[0].add_(1); x=l[2]*2",
    "numpy share": "n=x.numpy(); n[0]=7; x=x*2; n[1]=9; x=x+float(n[1])",
    "item later": "a=x.sum(); v=a.item(); a.add_(1); x=x+v+a",
    "unsqueeze_": "a=x.clone(); b=a; a.unsqueeze_(0); x=x+b.dim()",
    "grad zero": "w=B.p; (w*x).sum().backward(); g=w.grad; w.grad.zero_(); x=x+g; (w*x).sum().backward(); x=x+g",
    "opt": "w=B.p; o=janus.optim.SGD([w],lr=.1)\nfor i in range(3):\n    o.zero_grad(); (w*w*x).sum().backward(); o.step()\nx=x+w.detach()",
    "opt set_to_none": "w=B.p; o=janus.optim.SGD([w],lr=.1,momentum=.9)\nfor i in range(3):\n    o.zero_grad(set_to_none=i%2==0); g=w.grad; (w*w*x).sum().backward(); log.append(g is w.grad); o.step()\nx=x+w.detach()",
    "bwd in callee": "w=B.p; y=(w*x).sum(); bw(y); x=x+w.grad; B.n+=1",
    "copy_ grad": "w=B.p; y=w*2; z=y*3; y.copy_(x); (y.sum()+z.sum()).backward(); x=x+w.grad",
    "overwritten retain": "w=B.p; y=w*2; y.retain_grad(); z=y*1.; z.copy_(x); (z*y).sum().backward(); x=x+y.grad",
    "chunk write": "a=janus.arange(6.); b,c=a.chunk(2); b.add_(x); c.copy_(b); x=x+a.sum()+c",
    "split grad write": "w=B.p; y=w*janus.ones(3); y[0]=5.; y[1:].mul_(x[1:]); y.sum().backward(); x=x+w.grad",
    "unbind": "a=janus.arange(6.).view(2,3)\nfor r in a: r.add_(x)\nx=x+a.sum()",
    "iter tensor grows": "a=janus.arange(3.)\nfor i,r in enumerate(a):\n    a[2]=r+1; x=x+r",
    "stack alias": "a=x.clone(); s=janus.stack([a,a]); a.add_(1); x=x+s[0]-s[1]+a",
    "no grad hook": "w=B.p\nwith janus.no_grad():\n    y=w*x; y.requires_grad_(); z=y*2\nlog.append((y.requires_grad,z.requires_grad,y.is_leaf)); x=x+z.detach()",
    "bool ctx": "w=B.p\nif (w*x).sum()>5: janus.set_grad_enabled(False)\ny=w*x; janus.set_grad_enabled(True); log.append(y.requires_grad); x=x+y.detach()",
    "inference": "w=B.p\nwith janus.inference_mode(): y=w*x\nlog.append(y.requires_grad); x=x+y",
}

CALLED = """
def take(): return next(B.g, 50)
def drain(g): return next(g) + next(g)
def touch(): B.n += 1
def own(x, acc=[0]):
    acc[0] += 1
    return x * acc[0]
@contextlib.contextmanager
def cm(v):
    log.append(("enter", v))
    try: yield v
    finally: log.append(("exit", v))
def setd(d): janus.set_default_dtype(d)
def ng(w, x):
    with janus.no_grad(): return w * x
@janus.no_grad()
def ng2(w, x): return w * x * 2
def sg(b): janus.set_grad_enabled(b)
def mm(w, x): return w @ x
def bw(y): y.backward()
"""


def indented(body, by):
    return body.replace("\n", "\n" + " " * by)


PLACES = {
    "as it is": lambda b: "def f(x):\n    " + indented(b, 4) + "\n    return x\n",
    "in an arm": lambda b: "def f(x):\n    if float(x.sum()) > 6:\n        " + indented(b, 8) + "\n    else: x = x * 2\n    return x\n",
    "in a loop": lambda b: "def f(x):\n    q = 0\n    while q < B.n % 3 + 1:\n        " + indented(b, 8) + "\n        x = x * 0.5\n        q += 1\n    return x\n",
    "in a callee": lambda b: "def h(x):\n    " + indented(b, 4) + "\n    return x\ndef f(x):\n    x = h(x)\n    return h(x * 0.5)\n",
    "in try": lambda b: "def f(x):\n    try:\n        " + indented(b, 8) + "\n    finally:\n        log.append('end')\n        x = x * 0.5\n    return x\n",
    "in a recursion": lambda b: "def h(x, n):\n    " + indented(b, 4) + "\n    if n == 0: return x\n    return h(x * 0.5, n - 1) + h(x * 0.25, n - 1)\n"
                                "def f(x): return h(x, 1)\n",
}


def shown(v):
    if isinstance(v, janus.Tensor):
        return str(v.dtype), v.requires_grad, v.tolist(), None if v.grad is None else v.grad.tolist()
    return type(v)(map(shown, v)) if isinstance(v, (list, tuple)) else repr(v)


def outcomes(text, options):
    names = names_of(text, janus=janus, __name__="program")
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(6):
        janus.manual_seed(i)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                made = shown(f(janus.ones(3) * (i + 1)))
            except Exception as e:
                made = f"{type(e).__name__}: {e}"
        seen.append((made, shown(names["log"]), printed.getvalue(), names["B"].n))
        names["log"].clear()
        janus.set_default_dtype(janus.float32)
        janus.set_grad_enabled(True)
    graphs = f.stats() if options else {}
    return seen, graphs.get("graph", 0) + graphs.get("region_hits", 0) > 0


@pytest.mark.parametrize("programs", [OF_PYTHON, OF_TENSORS], ids=["python", "tensors"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(place, programs):
    graphs, wrong = 0, []
    for name, body in programs.items():
        text = STATE + CALLED + PLACES[place](body)
        try:
            want, _ = outcomes(text, None)
        except SyntaxError:
            continue  # a nonlocal statement fits in functions alone
        got, ran = outcomes(text, {"verify": "never", "measure": False})
        graphs += ran
        wrong += [(name, a, b) for a, b in zip(want, got) if a != b][:1]
    assert not wrong, f"{len(wrong)}: {wrong[0]}"
    assert graphs > len(programs) // 4, graphs
