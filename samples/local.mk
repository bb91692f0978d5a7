# samples: programs for users, C and Python. C samples see only janus.h and libjanus.la:
#   noinst_PROGRAMS += samples/c/NAME
#   samples_c_NAME_LDADD = libjanus.la -lm
noinst_PROGRAMS += \
	$(NULL)

EXTRA_DIST += \
	samples/char_lm.py \
	samples/imagedata.py \
	samples/lenet.py \
	samples/progress.py \
	samples/sidebyside.py \
	samples/tree_classifier.py \
	samples/treedata \
	$(NULL)
