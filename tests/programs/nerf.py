# SPDX-License-Identifier: Apache-2.0
"""A radiance field: rays through a scene, frequencies of positions, colours composed along each ray, PSNR."""
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Embedder:
    def __init__(self, **kwargs):
        self.kwargs = kwargs
        self.create_embedding_fn()

    def create_embedding_fn(self):
        embed_fns, d, out_dim = [], self.kwargs["input_dims"], 0
        if self.kwargs["include_input"]:
            embed_fns.append(lambda x: x)
            out_dim += d
        freq_bands = 2.0 ** torch.linspace(0.0, self.kwargs["max_freq_log2"], steps=self.kwargs["num_freqs"])
        for freq in freq_bands:
            for p_fn in self.kwargs["periodic_fns"]:
                embed_fns.append(lambda x, p_fn=p_fn, freq=freq: p_fn(x * freq))
                out_dim += d
        self.embed_fns, self.out_dim = embed_fns, out_dim

    def embed(self, inputs):
        return torch.cat([fn(inputs) for fn in self.embed_fns], -1)


class NeRF(nn.Module):
    def __init__(self, embedder, depth=3, width=12, skips=(1,)):
        super().__init__()
        self.embedder, self.skips = embedder, skips
        n = embedder.out_dim
        self.pts_linears = nn.ModuleList(
            [nn.Linear(n, width)] + [nn.Linear(width + n if i in skips else width, width) for i in range(depth - 1)])
        self.output_linear = nn.Linear(width, 4)

    def forward(self, x):
        pts = self.embedder.embed(x)
        h = pts
        for i, l in enumerate(self.pts_linears):
            h = F.relu(l(h))
            if i in self.skips:
                h = torch.cat([pts, h], -1)
        return self.output_linear(h)


def raw2outputs(raw, z_vals, rays_d, noise_std=0.0):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.tensor([1e10]).expand(dists[..., :1].shape)], -1)
    dists = dists * torch.norm(rays_d[..., None, :], dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    noise = 0.0
    if noise_std > 0.0:
        noise = torch.randn(raw[..., 3].shape) * noise_std
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3] + noise) * dists)
    ones = torch.ones((alpha.shape[0], 1))
    weights = alpha * torch.exp(torch.cumsum(torch.log(torch.cat([ones, 1.0 - alpha + 1e-10], -1)), -1))[:, :-1]
    rgb_map = torch.sum(weights[..., None] * rgb, -2)
    return rgb_map, torch.sum(weights * z_vals, -1), torch.sum(weights, -1)


def render(model, rays_o, rays_d, near=2.0, far=6.0, samples=5, perturb=True, chunk=8):
    t = torch.linspace(0.0, 1.0, steps=samples)
    z = (near * (1.0 - t) + far * t).expand([rays_o.shape[0], samples])
    if perturb:
        mids = 0.5 * (z[..., 1:] + z[..., :-1])
        upper = torch.cat([mids, z[..., -1:]], -1)
        lower = torch.cat([z[..., :1], mids], -1)
        z = lower + (upper - lower) * torch.rand(z.shape)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z[..., :, None]
    flat = torch.reshape(pts, [-1, pts.shape[-1]])
    raw = torch.cat([model(flat[i:i + chunk]) for i in range(0, flat.shape[0], chunk)], 0)
    raw = torch.reshape(raw, list(pts.shape[:-1]) + [raw.shape[-1]])
    return raw2outputs(raw, z, rays_d, noise_std=0.1 if perturb else 0.0)


img2mse = lambda x, y: torch.mean((x - y) ** 2)
mse2psnr = lambda x: -10.0 * torch.log(x) / torch.log(torch.tensor([10.0]))


def train_step(model, optimizer, rays_o, rays_d, target):
    rgb, depth, acc = render(model, rays_o, rays_d)
    optimizer.zero_grad()
    img_loss = img2mse(rgb, target)
    psnr = mse2psnr(img_loss)
    img_loss.backward()
    optimizer.step()
    return img_loss, psnr


def epoch(model, optimizer, rays, colours, global_step, lrate=5e-3, decay=10):
    i_batch, start = 0, time.time()
    perm = torch.randperm(rays.shape[0])
    rays, colours = rays[perm], colours[perm]
    while i_batch < rays.shape[0]:
        batch = rays[i_batch:i_batch + 6]
        loss, psnr = train_step(model, optimizer, batch[:, 0], batch[:, 1], colours[i_batch:i_batch + 6])
        i_batch += 6
        new_lrate = lrate * (0.1 ** (global_step / decay))
        for param_group in optimizer.param_groups:
            param_group["lr"] = new_lrate
        global_step += 1
    print(f"[TRAIN] Iter: {global_step} Loss: {loss.item()}  PSNR: {psnr.item()} {time.time() - start:.3f} s")
    return global_step


def main(epochs):
    origin = torch.tensor([0.0, 0.0, -4.0]).expand(18, 3)
    direction = torch.cat([torch.randn(18, 2) * 0.2, torch.ones(18, 1)], 1)
    rays, colours = torch.stack([origin, direction], 1), torch.rand(18, 3)
    embedder = Embedder(input_dims=3, include_input=True, max_freq_log2=2, num_freqs=3, periodic_fns=[torch.sin, torch.cos])
    model = NeRF(embedder)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.999))
    n = 0
    for _ in range(epochs):
        n = epoch(model, optimizer, rays, colours, n)
    with torch.no_grad():
        picture, depth, _ = render(model, rays[:, 0], rays[:, 1], perturb=False)
    return n, picture, depth, math.log2(8)


MODEL, STEP, EPOCH = "NeRF.forward", "train_step", "epoch"
