# Written by tools/stubs/write.py; do not edit.
from janus.optim import adadelta as adadelta
from janus.optim import adagrad as adagrad
from janus.optim import adam as adam
from janus.optim import adam_variants as adam_variants
from janus.optim import lbfgs as lbfgs
from janus.optim import lr_cycles as lr_cycles
from janus.optim import lr_joined as lr_joined
from janus.optim import lr_ramps as lr_ramps
from janus.optim import lr_scheduler as lr_scheduler
from janus.optim import optimizer as optimizer
from janus.optim import rmsprop as rmsprop
from janus.optim import sgd as sgd
from janus.optim.adadelta import Adadelta as Adadelta
from janus.optim.adagrad import Adagrad as Adagrad
from janus.optim.adam import Adam as Adam
from janus.optim.adam import AdamW as AdamW
from janus.optim.adam_variants import Adamax as Adamax
from janus.optim.adam_variants import NAdam as NAdam
from janus.optim.adam_variants import RAdam as RAdam
from janus.optim.lbfgs import LBFGS as LBFGS
from janus.optim.optimizer import Optimizer as Optimizer
from janus.optim.rmsprop import RMSprop as RMSprop
from janus.optim.rmsprop import Rprop as Rprop
from janus.optim.sgd import ASGD as ASGD
from janus.optim.sgd import SGD as SGD

