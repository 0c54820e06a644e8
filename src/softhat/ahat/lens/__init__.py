"""The paper's notions on trained models: how hard is the attention of a Hugging Face checkpoint?

`checkpoint` runs it and keeps the scores as they enter softmax, `heads` says what each head's rows
are nearest to and how far from it, against shuffled scores, `patterns` where they look, `report`
puts texts together, `picture` draws them. Nothing here is proved: these are measurements.
"""
