# samples: programs for users, C and Python. C samples see only janus.h and libjanus.la:
#   noinst_PROGRAMS += samples/c/NAME
#   samples_c_NAME_LDADD = libjanus.la -lm
noinst_PROGRAMS += \
	samples/c/fib \
	samples/c/mlp \
	samples/c/tree_rnn \
	$(NULL)

if HAVE_CJSON
noinst_PROGRAMS += samples/c/serve/serve
endif
samples_c_serve_serve_SOURCES = samples/c/serve/serve.c samples/c/serve/http.c
samples_c_serve_serve_LDADD = libjanus.la $(CJSON_LIBS)
noinst_HEADERS += samples/c/serve/http.h

samples_c_fib_LDADD = libjanus.la
samples_c_mlp_LDADD = libjanus.la -lm
samples_c_tree_rnn_LDADD = libjanus.la

EXTRA_DIST += \
	samples/char_lm.py \
	samples/imagedata.py \
	samples/lenet.py \
	samples/papers \
	samples/progress.py \
	samples/serve_tree.py \
	samples/sidebyside.py \
	samples/tree_classifier.py \
	samples/treedata \
	samples/treemodels.py \
	samples/zoo/__init__.py \
	samples/zoo/bert.py \
	samples/zoo/efficientnet.py \
	samples/zoo/gpt2.py \
	samples/zoo/inception.py \
	samples/zoo/lstm.py \
	samples/zoo/mobilenet.py \
	samples/zoo/nasnet.py \
	samples/zoo/resnet.py \
	$(NULL)
