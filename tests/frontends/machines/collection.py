"""Counter machines to try things on: a program, an input, and what must come out by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A counter machine with an input, and some counters' values when it halts."""

    name: str
    text: str
    input: dict[str, int]
    counters: dict[str, int]


ADD = "l: dec b m h\nm: inc a l\nh: halt"
MULTIPLY = """
outer: dec a first done
first: dec b addc restore
addc: inc c addd
addd: inc d first
restore: dec d back outer
back: inc b restore
done: halt
"""
SUBTRACT = "l: dec b m h\nm: dec a l l\nh: halt"
PARITY = "l: dec a m h\nm: dec a l odd\nodd: inc p h\nh: halt"
HALVE = "l: dec a m h\nm: dec a n odd\nn: inc q l\nodd: inc r h\nh: halt"
DOUBLE = "l: dec a m h\nm: inc b n\nn: inc b l\nh: halt"
COPY = "l: dec a m back\nm: inc b n\nn: inc c l\nback: dec c p h\np: inc a back\nh: halt"
MINIMUM = "l: dec a m h\nm: dec b n h\nn: inc c l\nh: halt"
MAXIMUM = """
l: dec a m restb
m: dec b n resta
n: inc c l
resta: inc c more
more: dec a resta h
restb: dec b r h
r: inc c restb
h: halt
"""
SQUARE = """
start: dec x copy go2
copy: inc a c2
c2: inc b start
go2: dec a first done
first: dec b addc restore
addc: inc c addd
addd: inc d first
restore: dec d back go2
back: inc b restore
done: halt
"""
TRIANGLE = """
outer: dec n keep done
keep: inc k body
body: dec k b1 restore
b1: inc s b2
b2: inc t body
restore: dec t back outer
back: inc k restore
done: halt
"""
POWER = """
init: inc r loop
loop: dec n dbl done
dbl: dec r d1 back
d1: inc t d2
d2: inc t dbl
back: dec t b1 loop
b1: inc r back
done: halt
"""
FIBONACCI = """
init: inc b loop
loop: dec n step done
step: dec b s1 shift
s1: inc t s2
s2: inc u step
shift: dec a t1 move
t1: inc t shift
move: dec u m1 up
m1: inc a move
up: dec t u1 loop
u1: inc b up
done: halt
"""
DIVIDE = """
outer: dec b d1 test
d1: inc t d2
d2: dec a outer partial
partial: dec t p1 done
p1: inc b p2
p2: inc r partial
test: inc q back
back: dec t r1 outer
r1: inc b back
done: halt
"""
"""a divided by b: q, and r - 1 left (the last unit that was not there is counted too)."""
GCD = """
loop: dec a l1 adone
l1: dec b l2 bdone
l2: inc t loop
adone: dec b a1 fin
a1: inc b mova
mova: dec t m1 loop
m1: inc a mova
bdone: inc a movb
movb: dec t m2 loop
m2: inc b movb
fin: halt
"""
COLLATZ = """
test: dec n one done
one: dec n more last
last: inc n done
more: inc n m2
m2: inc n split
split: dec n s1 even
s1: dec n s2 odd
s2: inc h split
even: dec h e1 count
e1: inc n even
odd: inc n o1
o1: inc n o2
o2: inc n o3
o3: inc n o4
o4: dec h o5 count
o5: inc n o6
o6: inc n o7
o7: inc n o8
o8: inc n o9
o9: inc n o10
o10: inc n o4
count: inc steps test
done: halt
"""
PRIME = """
i0: dec n i1 no         // 0 is no prime
i1: dec n i2 no         // nor is 1
i2: inc n i3
i3: inc n i4
i4: inc d i5
i5: inc d div           // try 2, 3, ...
div: dec n v1 rest      // a unit of n for every unit of d
v1: inc m v2
v2: dec d v3 no
v3: inc e v4
v4: dec d v5 full
v5: inc d div
full: dec e f1 turn
f1: inc d full
turn: inc q div
rest: dec e e1 exact    // is anything left over?
e1: inc d e2
e2: dec e e1 restore
restore: dec m r1 clear
r1: inc n restore
clear: dec q clear next
next: inc d div
exact: dec q x1 no      // d divides n: is it n itself?
x1: dec q no yes
yes: inc prime no
no: halt
"""
MOD3 = "l: dec a m h\nm: dec a n one\nn: dec a l two\none: inc r h\ntwo: inc r one\nh: halt"
EQUAL = "l: dec a m t\nm: dec b l no\nt: dec b no yes\nyes: inc e no\nno: halt"
SWAP = """
l: dec a m p
m: inc t l
p: dec b q r
q: inc a p
r: dec t s h
s: inc b r
h: halt
"""
LOG2 = """
test: dec a one done
one: dec a two done
two: inc b half
half: dec a h1 back
h1: dec a h2 back
h2: inc b half
back: dec b b1 count
b1: inc a back
count: inc k test
done: halt
"""
SUM = "l: dec a m n\nm: inc s l\nn: dec b o p\no: inc s n\np: dec c q h\nq: inc s p\nh: halt"
CLEAR = "l: dec a l m\nm: dec b m h\nh: halt"
THRICE = "l: dec a m h\nm: inc b n\nn: inc b o\no: inc b l\nh: halt"

CASES = (
    Case("add", ADD, {"a": 9, "b": 5}, {"a": 14}),
    Case("multiply", MULTIPLY, {"a": 6, "b": 7}, {"c": 42}),
    Case("subtract", SUBTRACT, {"a": 9, "b": 4}, {"a": 5}),
    Case("parity", PARITY, {"a": 7}, {"p": 1}),
    Case("halve", HALVE, {"a": 9}, {"q": 4, "r": 1}),
    Case("double", DOUBLE, {"a": 8}, {"b": 16}),
    Case("copy", COPY, {"a": 6}, {"a": 6, "b": 6}),
    Case("minimum", MINIMUM, {"a": 5, "b": 8}, {"c": 5}),
    Case("maximum", MAXIMUM, {"a": 5, "b": 8}, {"c": 8}),
    Case("square", SQUARE, {"x": 6}, {"c": 36}),
    Case("triangle", TRIANGLE, {"n": 6}, {"s": 21}),
    Case("power", POWER, {"n": 5}, {"r": 32}),
    Case("fibonacci", FIBONACCI, {"n": 9}, {"a": 34, "b": 55}),
    Case("divide", DIVIDE, {"a": 17, "b": 5}, {"q": 3}),
    Case("gcd", GCD, {"a": 12, "b": 18}, {"t": 6}),
    Case("collatz", COLLATZ, {"n": 7}, {"n": 1, "steps": 16}),
    Case("prime", PRIME, {"n": 13}, {"prime": 1}),
    Case("composite", PRIME, {"n": 15}, {"prime": 0}),
    Case("mod3", MOD3, {"a": 11}, {"r": 2}),
    Case("equal", EQUAL, {"a": 6, "b": 6}, {"e": 1}),
    Case("swap", SWAP, {"a": 3, "b": 8}, {"a": 8, "b": 3}),
    Case("log2", LOG2, {"a": 37}, {"k": 5}),
    Case("sum", SUM, {"a": 3, "b": 4, "c": 5}, {"s": 12}),
    Case("clear", CLEAR, {"a": 7, "b": 2}, {"a": 0, "b": 0}),
    Case("thrice", THRICE, {"a": 7}, {"b": 21}),
)
