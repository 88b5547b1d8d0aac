"""Pipeline steps, one module per step. A step does not know its queue, nor the steps before and
after it.
"""
