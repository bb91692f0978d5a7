# SPDX-License-Identifier: Apache-2.0
"""Cases: nn.functional, layers, losses and optimizers."""
from inputs import CORNERS, corners, drawn, given, inf, nan

BOUNDS = [-3.5, -3.0, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 21.0, 100.0, -100.0, inf, -inf, nan, 1e-6, -1e-6]

ACTIVATIONS = ("relu(x)", "relu6(x)", "hardtanh(x)", "hardtanh(x, -2, 0.5)", "hardsigmoid(x)", "hardswish(x)", "sigmoid(x)", "tanh(x)", "gelu(x)",
               "gelu(x, approximate='tanh')", "gelu(x, 'tanh')", "gelu(x, approximate='x')", "silu(x)", "mish(x)", "elu(x)", "elu(x, 0.5)", "elu(x, -1.0)", "selu(x)", "celu(x)",
               "celu(x, 2.0)", "celu(x, 0)", "leaky_relu(x)", "leaky_relu(x, 0.5)", "leaky_relu(x, -1.0)", "softplus(x)", "softplus(x, 2)", "softplus(x, 1, 5)",
               "softsign(x)", "softshrink(x)", "softshrink(x, -1)", "hardshrink(x)", "hardshrink(x, 0)", "tanhshrink(x)", "logsigmoid(x)", "threshold(x, 0, 2)",
               "threshold(x, 1.0, 20.0)", "prelu(x, T.tensor([0.25]))", "prelu(x, T.tensor([0.25, 1.]))", "rrelu(x)", "softmax(x)", "softmax(x, 0)", "softmax(x, dim=-1, dtype=T.float64)",
               "log_softmax(x)", "log_softmax(x, 0)", "softmin(x)", "softmin(x, 0)", "softmax(x, 5)", "normalize(x, dim=0)", "normalize(x, p=1, dim=0)", "normalize(x, p=inf, dim=0)",
               "normalize(x, p=0.5, dim=0)", "glu(x)", "glu(x, 0)", "gelu(x, T.ones(1))", "dropout(x, 0.0)", "dropout(x, 0.5, False)", "dropout(x, 1.0)", "dropout(x, 1.5)", "dropout(x, -0.1)",
               "alpha_dropout(x, 0.5, False)", "relu(x, True)", "relu(x, inplace=False)", "layer_norm(x, x.shape)", "rms_norm(x, x.shape)", "one_hot(x)")
IN_PLACE = ("relu relu6 hardtanh hardsigmoid hardswish silu mish elu selu celu leaky_relu hardtanh threshold dropout").split()
IN_PLACE_MODULES = "ReLU ReLU6 Hardtanh Hardsigmoid Hardswish SiLU Mish ELU SELU CELU LeakyReLU Dropout Threshold".split()


def activations(c):
    for call in ACTIVATIONS:
        c.add(f"F.{call}", given("x", BOUNDS), tolerance=4)
        c.add(f"F.{call}", drawn("x", (3, 4), "float64"), tolerance=4)
        c.add(f"F.{call}", drawn("x", (4,), "bfloat16"), tolerance=4)
        c.add(f"F.{call}", drawn("x", (4,), "int64", 0, 5), tolerance=4)
        c.add(f"F.{call}", given("x", [0.0, 0.0, 0.0, 0.0]), tolerance=4)
        c.add(f"F.{call}", given("x", [], shape=(0, 2)), tolerance=4)
        c.add(f"F.{call}", given("x", 2.0), tolerance=4)
        c.add(f"F.{call}", drawn("x", (2, 3, 4), layout="turned"), tolerance=4)
        c.add(f"F.{call}", drawn("x", (2, 2), "bool"), tolerance=4)
    for name in IN_PLACE:
        extra = {"threshold": ", 0, 5", "dropout": ", 1.0"}.get(name, "")
        c.add(f"y = x * 1; z = F.{name}(y{extra}, inplace=True); (y, z is y)", drawn("x", (4,), low=-4, high=7))
        c.add(f"y = x * 1; z = F.{name}(y{extra}, inplace=True); (y, z is y)", drawn("x", (4,), low=-4, high=7, grad=False))
        c.add(f"F.{name}(x{extra}, inplace=True)", drawn("x", (4,)))
        c.add(f"F.{name}_(x * 1)", drawn("x", (4,)))
    for name in IN_PLACE_MODULES:
        extra = {"Threshold": "0, 5, ", "Dropout": "1.0, "}.get(name, "")
        c.add(f"m = T.nn.{name}({extra}inplace=True); y = x * 1; z = m(y); (y, z is y, repr(m))", drawn("x", (4,), low=-4, high=7))
        c.add(f"repr(T.nn.{name}({extra}))")
    for name in ("Softmax", "LogSoftmax", "Softmin", "Tanh", "Sigmoid", "GELU", "Softplus", "Softsign", "Tanhshrink", "LogSigmoid", "GLU", "Softshrink", "Hardshrink", "PReLU", "Softmax2d", "Identity"):
        c.add(f"m = T.nn.{name}(); (m(x), repr(m))", drawn("x", (2, 4)), tolerance=4)


LOSSES = ("mse_loss(x, y{})", "l1_loss(x, y{})", "smooth_l1_loss(x, y{})", "smooth_l1_loss(x, y{}, beta=0.0)", "smooth_l1_loss(x, y{}, beta=0.5)", "smooth_l1_loss(x, y{}, beta=-1)", "huber_loss(x, y{})",
          "huber_loss(x, y{}, delta=0.5)", "huber_loss(x, y{}, delta=0)", "binary_cross_entropy(x, y{})", "binary_cross_entropy(x.sigmoid(), y.sigmoid(){})",
          "binary_cross_entropy(x.sigmoid(), y.sigmoid(), weight=w{})", "binary_cross_entropy_with_logits(x, y{})", "binary_cross_entropy_with_logits(x, y, weight=w{})",
          "binary_cross_entropy_with_logits(x, y, pos_weight=w{})", "kl_div(x, y{})", "kl_div(x, y{}, log_target=True)", "poisson_nll_loss(x, y{})", "poisson_nll_loss(x, y{}, log_input=False)",
          "poisson_nll_loss(x, y{}, full=True)", "gaussian_nll_loss(x, y, w{})", "gaussian_nll_loss(x, y, w{}, full=True)", "gaussian_nll_loss(x, y, -w{})", "hinge_embedding_loss(x, y{})", "soft_margin_loss(x, y{})",
          "margin_ranking_loss(x, y, y.sign(){})", "cosine_embedding_loss(x, y, T.tensor([1, -1]){})", "triplet_margin_loss(x, y, w{})", "triplet_margin_loss(x, y, w{}, swap=True)", "mse_loss(x, y, weight=w{})",
          "multilabel_soft_margin_loss(x, y{})", "mse_loss(x, y, size_average=False)", "l1_loss(x, y, reduce=False)", "mse_loss(x, y, reduce=True, size_average=True)", "kl_div(x, y, reduction='batchmean')")


def losses(c):
    reductions = ("", ", reduction='sum'", ", reduction='none'", ", reduction='x'")
    for call in LOSSES:
        for reduction in reductions if "{}" in call else ("",):
            source = "F." + call.format(reduction)
            c.add(source, drawn("x", (2, 3)), drawn("y", (2, 3)), drawn("w", (2, 3), low=0.1))
            c.add(source, drawn("x", (2, 3), low=0, high=1), drawn("y", (2, 3), low=0, high=1), drawn("w", (2, 3), low=0.1))
            if reduction == "":
                c.add(source, drawn("x", (3, 1)), drawn("y", (3,)), drawn("w", (3,), low=0.1))
                c.add(source, drawn("x", (2, 3)), drawn("y", (2, 4)), drawn("w", (3,), low=0.1))
                c.add(source, drawn("x", (2, 3)), drawn("y", (2, 3), "float64"), drawn("w", (3,), low=0.1))
                c.add(source, drawn("x", (2, 3)), drawn("y", (2, 3), "int64", 0, 1), drawn("w", (3,), low=0.1))
                c.add(source, drawn("x", (2, 3), "int64", 0, 1), drawn("y", (2, 3), "int64", 0, 1), drawn("w", (3,), low=0.1))
                c.add(source, given("x", []), given("y", []), given("w", []))
                c.add(source, given("x", 0.25), given("y", 0.75), given("w", 2.0))
                c.add(source, drawn("x", (2, 3), "bfloat16"), drawn("y", (2, 3), "bfloat16"), drawn("w", (2, 3), "bfloat16", low=0.1))
            if reduction == ", reduction='none'":
                c.add(source, given("x", [0.0, 1.0, 0.0, 1.0, 0.5, 1e-30]), given("y", [0.0, 1.0, 1.0, 0.0, 0.5, 0.0]), given("w", [1.0, 2.0, 0.0, 1.0, 1.0, 1.0]))
                c.add(source, given("x", [100.0, -100.0, inf, -inf, nan, 1e20]), given("y", [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]), given("w", [1.0, 2.0, 0.0, 1.0, 1.0, 1.0]))
    for x in (drawn("x", (2, 3)), given("x", [[1e4, 1e4, 1e4 - 1], [88.0, -88.0, 0.0]]), given("x", [[inf, 0.0, 0.0], [-inf, 0.0, 1.0]]), given("x", [[nan, 0.0, 0.0], [1.0, 0.0, 1.0]]),
              drawn("x", (2, 3), "float64"), drawn("x", (2, 3), "bfloat16"), drawn("x", (2, 3), layout="turned"), drawn("x", (3,)), drawn("x", (2, 3, 2)), drawn("x", (0, 3)), drawn("x", (2, 0))):
        for target in ("T.tensor([0, 2])", "T.tensor([1, -100])", "T.tensor([-100, -100])", "T.tensor([3, 0])", "T.tensor([-1, 0])", "T.tensor(1)", "T.tensor([[0, 1], [2, 0]])", "T.tensor([0., 1.])",
                       "T.tensor([0, 1], dtype=T.int32)", "T.tensor([0, 1], dtype=T.uint8)", "T.zeros(0, dtype=T.int64)", "T.tensor([0])", "T.softmax(T.arange(6.).reshape(2, 3), 1)", "T.ones(2, 3)"):
            extras = ("", ", reduction='none'", ", reduction='sum', ignore_index=2", ", weight=T.tensor([1., 2., 3.])", ", weight=T.tensor([1., 0., 3.]), reduction='none'") if len(x.shape) == 2 else ("",)
            for extra in extras:
                c.add(f"F.cross_entropy(x, {target}{extra})", x)
                c.add(f"F.nll_loss(x, {target}{extra})", x)
            for extra in (", label_smoothing=0.1", ", label_smoothing=0.1, weight=T.tensor([1., 2., 3.])", ", label_smoothing=1.5", ", label_smoothing=0.3, reduction='none'", ", label_smoothing=0.2, weight=T.tensor([1., 2., 3.]), reduction='sum'"):
                if len(x.shape) == 2:
                    c.add(f"F.cross_entropy(x, {target}{extra})", x)
    c.add("F.cross_entropy(x, T.tensor([0, 1]), weight=T.ones(2))", drawn("x", (2, 3)))
    c.add("F.cross_entropy(x, T.tensor([0, 1]), size_average=False)", drawn("x", (2, 3)))
    c.add("T.nn.CrossEntropyLoss(weight=T.tensor([1., 2., 3.]), label_smoothing=0.1)(x, T.tensor([0, 1]))", drawn("x", (2, 3)))
    for name in ("MSELoss L1Loss SmoothL1Loss HuberLoss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss HingeEmbeddingLoss").split():
        for args in ("", "reduction='sum'", "size_average=False", "reduce=False", "reduction='x'"):
            c.add(f"T.nn.{name}({args})(x, y)", drawn("x", (2, 3)), drawn("y", (2, 3)))
    for x, y in (([[0.0, 0.0]], [[1.0, 1.0]]), ([[1.0, 2.0]], [[2.0, 4.0]]), ([[1e20, 1e20]], [[1.0, 1.0]]), ([[0.0, 0.0]], [[0.0, 0.0]]), ([[1e-10, 0.0]], [[1.0, 1.0]])):
        for source in ("F.cosine_similarity(x, y)", "F.cosine_similarity(x, y, dim=0)", "F.cosine_similarity(x, y, eps=1.0)", "F.pairwise_distance(x, y)", "F.pairwise_distance(x, y, p=1)", "F.pairwise_distance(x, y, eps=0.0)",
                       "F.pairwise_distance(x, x, eps=0.0)", "F.normalize(x)", "F.normalize(x, p=1)", "F.normalize(x, p=inf)", "F.normalize(x, p=0)", "x.norm(dim=1)", "x.std(1)", "x.var(1)", "F.pairwise_distance(x, y, p=inf)",
                       "T.nn.CosineSimilarity()(x, y)", "T.nn.PairwiseDistance()(x, y)", "T.dist(x, y)", "F.layer_norm(x, (2,))", "F.rms_norm(x, (2,))"):
            c.add(source, given("x", x), given("y", y), tolerance=4)


def norms(c):
    for shape in ((2, 3), (1, 3), (0, 3), (2, 3, 4), (2, 3, 2, 2), (3,), (2, 4)):
        for source in ("F.batch_norm(x, T.zeros(3), T.ones(3))", "F.batch_norm(x, T.zeros(3), T.ones(3), w, w, training=True)", "F.batch_norm(x, None, None, w, w, True)", "F.batch_norm(x, None, None)", "F.batch_norm(x, T.zeros(3), T.zeros(3), w, w)",
                       "rm, rv = T.zeros(3), T.ones(3); y = F.batch_norm(x, rm, rv, training=True, momentum=0.3); (y, rm, rv)", "F.batch_norm(x, T.zeros(2), T.ones(2))", "F.group_norm(x, 1)", "F.group_norm(x, 3, w, w)", "F.group_norm(x, 2)", "F.group_norm(x, 0)",
                       "F.instance_norm(x)", "F.instance_norm(x, weight=w, bias=w)", "F.instance_norm(x, T.zeros(3), T.ones(3), use_input_stats=False)", "F.layer_norm(x, (3,))", "F.layer_norm(x, x.shape[1:])", "F.layer_norm(x, (3,), w, w)", "F.layer_norm(x, 3)", "F.layer_norm(x, ())",
                       "F.rms_norm(x, x.shape[1:])", "F.local_response_norm(x, 2)", "T.nn.BatchNorm1d(3)(x)", "T.nn.BatchNorm2d(3)(x)", "T.nn.LayerNorm(3)(x)", "T.nn.GroupNorm(3, 3)(x)", "T.nn.InstanceNorm1d(3)(x)", "T.nn.InstanceNorm2d(3)(x)", "T.nn.RMSNorm(3)(x)",
                       "m = T.nn.BatchNorm1d(3); y = m(x); (y, m.running_mean, m.running_var, m.num_batches_tracked)", "m = T.nn.BatchNorm1d(3, momentum=None); y = m(x); y = m(x * 2); (m.running_mean, m.running_var)", "T.nn.BatchNorm1d(3, track_running_stats=False).eval()(x)", "T.nn.BatchNorm1d(3, affine=False).eval()(x)"):
            c.add(source, drawn("x", shape), drawn("w", (3,)), tolerance=8)


def spatial(c):
    x1, x2 = drawn("x", (2, 4, 6)), drawn("x", (2, 4, 5, 6))
    for args in ("", ", 2", ", 0", ", 2, 1", ", 3, 2", ", 2, padding=1", ", 2, 1, 1, 2", ", 2, ceil_mode=True", ", 3, 2, 1, ceil_mode=True", ", 9", ", (2,)", ", (1, 2)", ", 2, stride=-1", ", 2, padding=2", ", 2, padding=-1", ", 2, return_indices=True", ", kernel_size=2, stride=None", ", 2, count_include_pad=False", ", 3, 1, 1, count_include_pad=False", ", 2, divisor_override=3"):
        for f, x in (("max_pool1d", x1), ("avg_pool1d", x1), ("max_pool2d", x2), ("avg_pool2d", x2), ("lp_pool2d", x2)):
            c.add(f"F.{f}(x{args})", x)
            c.add(f"F.{f}(x[0]{args})", x)
    for f in ("max_pool2d", "avg_pool2d"):
        for dtype in ("int64", "float64", "float16", "uint8"):
            c.add(f"F.{f}(x, 2)", given("x", [[[[1, 2], [3, 2**24 + 1 if dtype == 'int64' else 100]]]], dtype))
        c.add(f"F.{f}(x, 2)", given("x", [[[[nan, 1.0], [2.0, 3.0]]]]))
        c.add(f"F.{f}(x, 2, padding=1)", given("x", [[[[-inf, 1.0], [inf, -3.0]]]]))
        c.add(f"F.{f}(x, 2)", drawn("x", (0, 2, 4, 4)))
        c.add(f"F.{f}(x, 2)", drawn("x", (2, 0, 4, 4)))
        c.add(f"F.{f}(x, 2)", drawn("x", (4, 4)))
        c.add(f"F.{f}(x, 2)", given("x", [[[[1.0, 1.0], [1.0, 1.0]]]]))
    for size in ("1", "2", "3", "7", "0", "-1", "(2, 3)", "(None, 2)", "None", "(1,)"):
        for f in ("adaptive_avg_pool1d", "adaptive_max_pool1d"):
            c.add(f"F.{f}(x, {size})", x1)
        for f in ("adaptive_avg_pool2d", "adaptive_max_pool2d"):
            c.add(f"F.{f}(x, {size})", x2)
    for mode in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "area", "x", "trilinear"):
        for args in ("size=3", "size=(3, 4)", "size=12", "scale_factor=2", "scale_factor=0.5", "scale_factor=(1.5, 2)", "scale_factor=1.3", "size=0", "size=(2**30, 2**30)", "size=-1", "scale_factor=0", "scale_factor=-1", "", "size=2, scale_factor=2", "scale_factor=2, recompute_scale_factor=True", "size=1"):
            for x in (x1, x2):
                c.add(f"F.interpolate(x, {args}, mode='{mode}')", x, tolerance=16)
                if mode in ("linear", "bilinear", "bicubic"):
                    c.add(f"F.interpolate(x, {args}, mode='{mode}', align_corners=True)", x, tolerance=16)
        for dtype in ("uint8", "float16", "int64"):
            c.add(f"F.interpolate(x, size=(4, 4), mode='{mode}')", given("x", [[[[0, 100], [200, 255]]]], dtype))
    kernels = drawn("w", (6, 4, 3)), drawn("w", (6, 4, 3, 2))
    for args in ("", ", b", ", stride=2", ", padding=1", ", padding='same'", ", padding='valid'", ", padding='same', stride=2", ", dilation=2", ", stride=0", ", padding=-1", ", groups=2", ", groups=0", ", dilation=0", ", padding=5", ", stride=(1,)", ", stride=(2, 1)", ", padding='x'"):
        c.add(f"F.conv1d(x, w{args})", x1, kernels[0], drawn("b", (6,)), tolerance=8)
        c.add(f"F.conv2d(x, w{args})", x2, kernels[1], drawn("b", (6,)), tolerance=8)
        c.add(f"F.conv_transpose1d(x, w.transpose(0, 1){args})", x1, kernels[0], drawn("b", (6,)), tolerance=8)
        c.add(f"F.conv_transpose2d(x, w.transpose(0, 1){args})", x2, kernels[1], drawn("b", (6,)), tolerance=8)
    for args in ("groups=2", "groups=2, padding=1, stride=2", "groups=4"):
        c.add(f"F.conv2d(x, w, {args})", x2, drawn("w", (8, 2, 2, 2)), tolerance=8)
        c.add(f"F.conv2d(x, w, {args})", x2, drawn("w", (4, 1, 2, 2)), tolerance=8)
    c.add("F.conv2d(x, w, padding=1)", given("x", [[[[1.0, 2.0], [3.0, 4.0]]]]), given("w", [[[[inf, 1.0, 0.0], [1.0, 1.0, nan], [0.0, 0.0, 1.0]]]]))
    c.add("F.conv2d(x, w)", drawn("x", (0, 2, 3, 3)), drawn("w", (1, 2, 2, 2)))
    c.add("F.conv2d(x, w)", drawn("x", (2, 3, 3)), drawn("w", (1, 2, 2, 2)), tolerance=4)
    c.add("F.conv2d(x, w)", drawn("x", (1, 2, 3, 3), "float64"), drawn("w", (1, 2, 2, 2)))
    c.add("F.conv2d(x, w)", drawn("x", (1, 2, 3, 3), "int64"), drawn("w", (1, 2, 2, 2), "int64"))
    for args in ("(2, 2)", "2, padding=1", "2, stride=2", "3, dilation=2", "0", "9"):
        c.add(f"F.unfold(x, {args})", x2)
        c.add(f"F.fold(F.unfold(x, {args}), (5, 6), {args})", x2)
    for args in ("2", "1", "0", "-1", "3"):
        c.add(f"F.pixel_shuffle(x, {args})", x2)
        c.add(f"F.pixel_unshuffle(x, {args})", drawn("x", (1, 1, 4, 4)))
        c.add(f"F.channel_shuffle(x, {args})", x2)
    for name, args, shape in (("Conv1d", "4, 6, 3", (2, 4, 6)), ("Conv2d", "4, 6, 3, padding=1, stride=2", (2, 4, 5, 6)), ("Conv2d", "4, 6, 3, padding_mode='reflect', padding=1", (2, 4, 5, 6)), ("Conv2d", "4, 4, 3, groups=4, bias=False", (2, 4, 5, 6)), ("ConvTranspose2d", "4, 2, 3, stride=2, output_padding=1", (2, 4, 5, 6)),
                              ("Linear", "4, 3", (2, 4)), ("Linear", "4, 3, bias=False", (4,)), ("Bilinear", "2, 2, 3", (2, 2)), ("RNN", "4, 3", (2, 2, 4)), ("GRU", "4, 3, batch_first=True", (2, 2, 4)), ("LSTM", "4, 3, 2, bidirectional=True", (2, 2, 4)), ("LSTMCell", "4, 3", (2, 4)), ("GRUCell", "4, 3", (2, 4)),
                              ("MultiheadAttention", "4, 2", None), ("TransformerEncoderLayer", "4, 2, 8, dropout=0.0", (3, 2, 4)), ("TransformerEncoderLayer", "4, 2, 8, dropout=0.0, activation='gelu', norm_first=True, batch_first=True", (3, 2, 4)), ("PReLU", "4", (2, 4, 3)), ("Embedding", "4, 3", None), ("LayerNorm", "(2, 4)", (3, 2, 4)), ("Flatten", "", (2, 3, 4)), ("Unflatten", "1, (2, 2)", (3, 4)), ("EmbeddingBag", "4, 3", None)):
        call = {"MultiheadAttention": "m(x, x, x)", "Embedding": "m(T.tensor([0, 3]))", "EmbeddingBag": "m(T.tensor([[0, 3]]))"}.get(name, "m(x)")
        c.add(f"m = T.nn.{name}({args}); r = [p.data.copy_((T.arange(p.numel()) % 7 - 3).reshape(p.shape) * 0.1) for p in m.parameters()]; y = {call}; (y, repr(m), list(m.state_dict()))", drawn("x", shape or (3, 2, 4)), tolerance=16)
    for args in ("", ", is_causal=True", ", attn_mask=m", ", attn_mask=m > 0", ", scale=0.5", ", attn_mask=m, is_causal=True", ", dropout_p=1.5", ", attn_mask=m > 9"):
        c.add(f"F.scaled_dot_product_attention(x, x, x{args})", drawn("x", (2, 3, 4)), drawn("m", (3, 3)), tolerance=4)


OPTIMIZERS = ("SGD(p, lr=0.1)", "SGD(p, lr=0.1, momentum=0.9)", "SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)", "SGD(p, lr=0.1, momentum=0.9, dampening=0.5)", "SGD(p, lr=0.1, maximize=True)", "SGD(p)", "SGD(p, lr=-1)", "SGD(p, lr=0.1, nesterov=True)", "Adam(p)", "Adam(p, lr=0.1, weight_decay=0.1)", "Adam(p, lr=0.1, amsgrad=True)",
              "Adam(p, betas=(0.5, 0.999))", "Adam(p, betas=(1.0, 0.9))", "Adam(p, eps=-1)", "Adam(p, lr=0.1, maximize=True)", "AdamW(p, lr=0.1)", "AdamW(p, lr=0.1, weight_decay=0.5, amsgrad=True)", "RMSprop(p)", "RMSprop(p, lr=0.1, momentum=0.9, centered=True)", "RMSprop(p, weight_decay=0.1, alpha=0.5)", "Adagrad(p)", "Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.1)",
              "Adadelta(p)", "Adadelta(p, lr=0.5, rho=0.5, weight_decay=0.1)", "Adam([])", "Adam([T.ones(1)])", "Adam(p[0])", "Adam(p, lr=T.tensor(0.1))", "SGD([{'params': p[:1], 'lr': 0.5}, {'params': p[1:]}], lr=0.1)", "NAdam(p)", "RAdam(p)", "Adamax(p)", "Rprop(p)", "SGD(p, lr=0.1, foreach=True)", "Adam(p, fused=True)", "Adam(p, capturable=True)", "Adam(p, differentiable=True)")


def optimizers(c):
    for call in OPTIMIZERS:
        for n in (1, 4):
            c.add(f"p = [T.nn.Parameter(x.detach().clone()), T.nn.Parameter(y.detach().clone())]; o = T.optim.{call}; r = [(o.zero_grad(), ((p[0] ** 2).sum() * (k + 1) + (p[0] * p[1]).sum()).backward(), o.step()) for k in range({n})]; p", drawn("x", (2, 3), grad=False), given("y", [0.0, 1e-20, 1.0], grad=False), tolerance=0.2)
        c.add(f"p = [T.nn.Parameter(x.detach().clone()), T.nn.Parameter(y.detach().clone())]; o = T.optim.{call}; (p[0] ** 2).sum().backward(); o.step(); (sorted(o.state_dict()), sorted(o.state[p[0]]), o.state.get(p[1]), o.state[p[1]], sorted(o.param_groups[0]))", drawn("x", (2, 3), grad=False), drawn("y", (3,), grad=False))
    for scheduler in ("StepLR(o, 2)", "MultiStepLR(o, [1, 3])", "ExponentialLR(o, 0.5)", "CosineAnnealingLR(o, 4)", "LambdaLR(o, lambda e: 0.9 ** e)", "LinearLR(o)", "OneCycleLR(o, 1.0, total_steps=6)", "ReduceLROnPlateau(o)", "ConstantLR(o)", "CosineAnnealingWarmRestarts(o, 2)", "PolynomialLR(o)", "CyclicLR(o, 0.1, 1.0)"):
        c.add(f"p = [T.nn.Parameter(T.ones(1))]; o = T.optim.SGD(p, lr=0.1); s = T.optim.lr_scheduler.{scheduler}; r = [(o.step(), s.step({'1.0' if 'Plateau' in scheduler else ''}), o.param_groups[0]['lr'])[2] for _ in range(5)]; r")


def collect(c):
    """Adds them all."""
    for part in (activations, losses, norms, spatial, optimizers):
        part(c)
    assert CORNERS and corners
