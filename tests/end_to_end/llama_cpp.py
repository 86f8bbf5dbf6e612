"""Serves a model file through llama.cpp: llama_cpp.py FILE. Prints its address once it listens; ends with its input."""

import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 32768
# One request at a time, from its beginning: what a model of noise says hangs on the last bit of a sum.
parameters.n_parallel = 1
parameters.cache_prompt = False
parameters.cpuparams.n_threads = 1
parameters.verbosity = 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
