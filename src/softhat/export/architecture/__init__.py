"""The softhat architecture in files that need nothing but torch and transformers.

`to_huggingface` copies them beside the weights, so that a saved model loads where softhat is not
installed (`trust_remote_code=True`). They must not import the rest of softhat.
"""
