"""What makes the program start fast; imported before all else that it needs.

A command for one line is over in half a second of processor time, most of it imports. A third of
that went into things that nobody asked for.
"""

import gc
import os

gc.set_threshold(100_000, 50, 50)  # imports make objects that stay; looking for rubbish is in vain
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy multiplies nothing here that is large
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would read every package's list
