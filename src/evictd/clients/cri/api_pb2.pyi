# For type checkers: the types of the package whose compiled proto api_pb2.py builds the messages from.
from cri_api.v1.api_pb2 import *
