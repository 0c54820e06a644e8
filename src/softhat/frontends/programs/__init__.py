"""B-RASP and C-RASP as text: programs of masked hard attention and of counting.

`syntax` is the program as data, `parse` reads it, `translate` makes the formula. B-RASP defines
exactly the languages of temporal logic and C-RASP those of counting formulas (Yang, Chiang and
Angluin 2024; Yang and Chiang 2024), so both are compiled, certified and exported as formulas.
"""
