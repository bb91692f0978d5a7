# SPDX-License-Identifier: Apache-2.0
"""Cases: convolutions, pooling, padding and norms over three dims."""
from inputs import drawn

OPTIONS = ("", ", stride=2", ", padding=1", ", dilation=2", ", padding='same'", ", padding='valid'", ", stride=(2, 1, 1), padding=(0, 1, 2)",
           ", dilation=(1, 2, 1), padding=(2, 1, 0)", ", stride=0", ", padding=-1", ", stride=(1, 2)", ", padding='same', stride=2", ", stride=[3]",
           ", dilation=0")
BACK = ("", ", stride=2", ", padding=1", ", stride=2, output_padding=1", ", dilation=2", ", stride=(3, 2, 1), padding=(1, 0, 1), output_padding=(2, 1, 0)",
        ", output_padding=1", ", padding=9", ", stride=2, padding=1, output_padding=1", ", dilation=(2, 1, 3), output_padding=(1, 0, 2)")
POOLS = ("2", "(1, 2, 3)", "2, 1", "3, 2, 1", "2, padding=1", "3, 1, 1, ceil_mode=True", "2, 2, ceil_mode=True", "(2, 1, 2), (1, 2, 1), (1, 0, 1)",
         "2, padding=2", "9", "[2]", "(2, 2)", "2, 0")
REST = ("F.max_pool3d(x, 2, 1, 0, 2)", "F.avg_pool3d(x, 3, 2, 1, count_include_pad=False)", "F.avg_pool3d(x, 3, 2, 1, True, False)",
        "F.adaptive_avg_pool3d(x, 2)", "F.adaptive_avg_pool3d(x, (1, None, 3))", "F.adaptive_max_pool3d(x, (3, 2, 1))",
        "F.adaptive_avg_pool3d(x, 0)", "F.adaptive_max_pool3d(x, (2, 2))", "F.interpolate(x, 3, mode='trilinear')",
        "F.interpolate(x, scale_factor=2, mode='trilinear', align_corners=True)", "F.interpolate(x, (2, 7, 3), mode='nearest')",
        "F.interpolate(x, (2, 7, 3), mode='area')", "T.nn.ReflectionPad3d(1)(x)", "T.nn.ReplicationPad3d((1, 0, 2, 1, 0, 1))(x)",
        "T.nn.ZeroPad3d(2)(x)", "T.nn.ConstantPad3d((1, -1, 0, 1, 2, 0), 3.5)(x)", "T.nn.CircularPad3d(1)(x)", "T.nn.CircularPad2d(1)(x[0])",
        "T.nn.CircularPad1d(2)(x[0, 0])", "T.nn.BatchNorm3d(2)(x)", "T.nn.BatchNorm3d(2).eval()(x)", "T.nn.BatchNorm3d(2)(x[0])",
        "T.nn.BatchNorm3d(3)(x)", "T.nn.InstanceNorm3d(2)(x)", "T.nn.InstanceNorm3d(2)(x[0])", "F.dropout3d(x, 0.5, False)",
        "T.nn.Dropout3d(0.0)(x)")
VOLUME = (1, 2, 3, 4, 3)


def collect(c):
    """Adds them all."""
    x, line = drawn("x", VOLUME), drawn("x", (2, 3, 4, 3))
    for options in OPTIONS:
        c.add(f"F.conv3d(x, w, b{options})", x, drawn("w", (4, 2, 2, 3, 2)), drawn("b", (4,)), tolerance=8)
        c.add(f"F.conv3d(x, w{options})", line, drawn("w", (3, 2, 1, 2, 3)), tolerance=8)
        c.add(f"F.conv3d(x, w, None, groups=2{options})", x, drawn("w", (4, 1, 3, 1, 2)), tolerance=8)
    for options in BACK:
        c.add(f"F.conv_transpose3d(x, w, b{options})", x, drawn("w", (2, 3, 2, 3, 2)), drawn("b", (3,)), tolerance=8)
        c.add(f"F.conv_transpose3d(x, w, groups=2{options})", x, drawn("w", (2, 2, 3, 1, 2)), tolerance=8)
        c.add(f"F.conv_transpose3d(x, w{options})", line, drawn("w", (2, 3, 1, 2, 2)), tolerance=8)
    for options in POOLS:
        for name in ("max", "avg"):
            for shape in (VOLUME, (0, 2, 3, 4, 4), (3, 3, 3)):
                c.add(f"F.{name}_pool3d(x, {options})", drawn("x", shape), tolerance=8)
        c.add(f"x = x.round(); F.max_pool3d(x, {options})", x)
    c.add("F.max_pool3d(x, 2)", drawn("x", VOLUME, "int64"))
    c.add("F.avg_pool3d(x, 2)", drawn("x", VOLUME, "int64"))
    for source in REST:
        c.add(source, x, tolerance=8)
    for shape in ((3, 3, 3), (2, 3, 3, 3, 3), (2, 0, 3, 3, 3), (0, 2, 3, 3, 3), (1, 1, 2, 2, 2, 2)):
        c.add("F.conv3d(x, w)", drawn("x", shape), drawn("w", (1, 2, 2, 2, 2)), tolerance=8)
        c.add("F.conv_transpose3d(x, w)", drawn("x", shape), drawn("w", (2, 1, 2, 2, 2)), tolerance=8)
