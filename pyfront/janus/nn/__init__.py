# SPDX-License-Identifier: Apache-2.0
"""Layers and models, with PyTorch's names, defaults and state-dict keys."""
from . import functional, init, utils
from .activation import (CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU,
                         LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6, Sigmoid, SiLU, Softmax, Softmax2d, Softmin,
                         Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold)
from .attention import (MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer,
                        TransformerEncoder, TransformerEncoderLayer)
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import AvgPool2d, Conv2d, MaxPool2d
from .conv_transpose import Conv1d, ConvTranspose1d, ConvTranspose2d
from .linear import Bilinear, Embedding, EmbeddingBag, Flatten, Identity, Linear
from .loss import (BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CosineSimilarity, CrossEntropyLoss, CTCLoss,
                   GaussianNLLLoss, HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, MarginRankingLoss, MSELoss,
                   NLLLoss, PairwiseDistance, PoissonNLLLoss, SmoothL1Loss, TripletMarginLoss)
from .margins import (MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, SoftMarginLoss,
                      TripletMarginWithDistanceLoss)
from .module import Module
from .norm import (AlphaDropout, BatchNorm1d, BatchNorm2d, Dropout, Dropout1d, Dropout2d, GroupNorm, InstanceNorm1d,
                   InstanceNorm2d, LayerNorm, LocalResponseNorm, RMSNorm)
from .parameter import Parameter
from .rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .spatial import (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool1d,
                      ConstantPad1d, ConstantPad2d, Fold, MaxPool1d, PixelShuffle, PixelUnshuffle, ReflectionPad1d,
                      ReflectionPad2d, ReplicationPad1d, ReplicationPad2d, Unflatten, Unfold, Upsample,
                      UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d)
from .volumes import (AdaptiveAvgPool3d, AdaptiveMaxPool3d, AvgPool3d, BatchNorm3d, CircularPad1d, CircularPad2d,
                      CircularPad3d, ConstantPad3d, Conv3d, ConvTranspose3d, Dropout3d, InstanceNorm3d, MaxPool3d,
                      ReflectionPad3d, ReplicationPad3d, ZeroPad3d)
