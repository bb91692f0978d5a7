# SPDX-License-Identifier: Apache-2.0
"""A world model: a recurrent state of which a part is drawn, learnt from episodes of different lengths, then imagined forward for an actor."""
import collections
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.distributions import Normal, kl_divergence

State = collections.namedtuple("State", "h z")


class RSSM(nn.Module):
    def __init__(self, obs, act, hidden=12, latent=4):
        super().__init__()
        self.hidden, self.latent = hidden, latent
        self.encoder = nn.Sequential(nn.Linear(obs, hidden), nn.ELU())
        self.inp = nn.Linear(latent + act, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.prior_net, self.post_net = nn.Linear(hidden, 2 * latent), nn.Linear(2 * hidden, 2 * latent)
        self.decoder = nn.Sequential(nn.Linear(hidden + latent, hidden), nn.ELU(), nn.Linear(hidden, obs))
        self.reward = nn.Linear(hidden + latent, 1)

    def initial(self, n):
        return State(torch.zeros(n, self.hidden), torch.zeros(n, self.latent))

    @staticmethod
    def dist(params):
        mean, std = params.chunk(2, dim=-1)
        return Normal(mean, F.softplus(std) + 0.1)

    def imagine_step(self, state, action):
        h = self.cell(F.elu(self.inp(torch.cat([state.z, action], -1))), state.h)
        prior = self.dist(self.prior_net(h))
        return State(h, prior.rsample()), prior

    def observe_step(self, state, action, embed):
        prior_state, prior = self.imagine_step(state, action)
        post = self.dist(self.post_net(torch.cat([prior_state.h, embed], -1)))
        return prior_state._replace(z=post.rsample()), prior, post

    def forward(self, obs, actions):
        state, states, kl = self.initial(obs.size(1)), [], 0.0
        embeds = self.encoder(obs)
        for t in range(obs.size(0)):
            state, prior, post = self.observe_step(state, actions[t], embeds[t])
            states.append(state)
            kl = kl + torch.clamp(kl_divergence(post, prior).sum(-1), min=0.5).mean()
        feats = torch.stack([torch.cat(s, -1) for s in states])
        return states, feats, kl / len(states)


class Actor(nn.Module):
    def __init__(self, n, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 12), nn.ELU(), nn.Linear(12, 2 * act))

    def forward(self, feat):
        mean, std = self.net(feat).chunk(2, -1)
        return Normal(mean.tanh(), F.softplus(std) + 0.1)


def lambda_returns(rewards, values, discount=0.95, lam=0.9):
    out, last = [], values[-1]
    for r, v in zip(reversed(rewards), reversed(values)):
        last = r + discount * ((1 - lam) * v + lam * last)
        out.insert(0, last)
    return torch.stack(out)


def train_step(model, actor, critic, opts, batch, horizon=4):
    obs, actions, rewards = batch
    states, feats, kl = model(obs, actions)
    recon = F.mse_loss(model.decoder(feats), obs)
    reward_loss = F.mse_loss(model.reward(feats).squeeze(-1), rewards)
    loss = recon + reward_loss + 0.1 * kl
    opts["model"].zero_grad()
    loss.backward()
    opts["model"].step()

    state = State(*(torch.cat([getattr(s, f) for s in states]).detach() for f in State._fields))
    imagined_rewards, values = [], []
    for _ in range(horizon):
        feat = torch.cat(state, -1)
        action = actor(feat.detach()).rsample()
        state, _ = model.imagine_step(state, action)
        feat = torch.cat(state, -1)
        imagined_rewards.append(model.reward(feat).squeeze(-1))
        values.append(critic(feat).squeeze(-1))
    returns = lambda_returns(imagined_rewards, values)
    actor_loss = -returns.mean()
    opts["actor"].zero_grad()
    actor_loss.backward(retain_graph=True)
    critic_loss = F.smooth_l1_loss(torch.stack(values), returns.detach())
    opts["critic"].zero_grad()
    critic_loss.backward()
    opts["actor"].step()
    opts["critic"].step()
    return {"recon": recon.item(), "reward": reward_loss.item(), "kl": kl.item(), "actor": actor_loss.item(), "critic": critic_loss.item()}


class Replay:
    def __init__(self, gen):
        self.gen, self.episodes = gen, []

    def collect(self, n, length):
        x, obs, acts, rews = torch.randn(n, 3, generator=self.gen), [], [], []
        for _ in range(length):
            a = torch.randn(n, 2, generator=self.gen).clamp(-1, 1)
            x = 0.9 * x + F.pad(a, (0, 1)) * 0.3
            obs.append(x), acts.append(a), rews.append(-x.pow(2).sum(-1))
        self.episodes.append((torch.stack(obs), torch.stack(acts), torch.stack(rews)))

    def __iter__(self):
        yield from self.episodes


def run_epoch(epoch, model, actor, critic, opts, replay):
    sums = collections.defaultdict(float)
    for batch in replay:
        for k, v in train_step(model, actor, critic, opts, batch).items():
            sums[k] += v
    n = len(replay.episodes)
    print(f"{epoch}: " + ", ".join(f"{k} {v / n:.4f}" for k, v in sorted(sums.items())))
    return dict(sums)


def main(epochs):
    torch.manual_seed(1)
    model, actor = RSSM(3, 2), Actor(16, 2)
    critic = nn.Sequential(nn.Linear(16, 12), nn.ELU(), nn.Linear(12, 1))
    opts = {"model": torch.optim.Adam(model.parameters(), lr=3e-3), "actor": torch.optim.Adam(actor.parameters(), lr=1e-3),
            "critic": torch.optim.Adam(critic.parameters(), lr=1e-3)}
    replay = Replay(torch.Generator().manual_seed(2))
    for length in (5, 7, 6):
        replay.collect(4, length)
    return [run_epoch(e, model, actor, critic, opts, replay) for e in range(epochs)]


MODEL, STEP, EPOCH = "RSSM.forward", "train_step", "run_epoch"
