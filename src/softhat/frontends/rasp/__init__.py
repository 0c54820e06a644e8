"""RASP, the language of Weiss, Goldberg and Yahav (2021), with the names of Tracr.

`from softhat import rasp` gives the language; `program(sequence)` is its meaning; `rasp.lib` are
ready programs; `softhat.compile(program, alphabet=…, max_length=…)` makes the transformer.
"""

from softhat.frontends.rasp import lib as lib
from softhat.frontends.rasp.evaluate import evaluate as evaluate
from softhat.frontends.rasp.expressions import Encoding as Encoding
from softhat.frontends.rasp.expressions import RASPExpr as RASPExpr
from softhat.frontends.rasp.expressions import annotate as annotate
from softhat.frontends.rasp.language import Aggregate as Aggregate
from softhat.frontends.rasp.language import ConstantSelector as ConstantSelector
from softhat.frontends.rasp.language import ConstantSOp as ConstantSOp
from softhat.frontends.rasp.language import Full as Full
from softhat.frontends.rasp.language import LinearSequenceMap as LinearSequenceMap
from softhat.frontends.rasp.language import Map as Map
from softhat.frontends.rasp.language import Select as Select
from softhat.frontends.rasp.language import Selector as Selector
from softhat.frontends.rasp.language import SelectorAnd as SelectorAnd
from softhat.frontends.rasp.language import SelectorNot as SelectorNot
from softhat.frontends.rasp.language import SelectorOr as SelectorOr
from softhat.frontends.rasp.language import SelectorWidth as SelectorWidth
from softhat.frontends.rasp.language import SequenceMap as SequenceMap
from softhat.frontends.rasp.language import SOp as SOp
from softhat.frontends.rasp.language import categorical as categorical
from softhat.frontends.rasp.language import get_encoding as get_encoding
from softhat.frontends.rasp.language import indices as indices
from softhat.frontends.rasp.language import is_categorical as is_categorical
from softhat.frontends.rasp.language import is_numerical as is_numerical
from softhat.frontends.rasp.language import length as length
from softhat.frontends.rasp.language import numerical as numerical
from softhat.frontends.rasp.language import selector_and as selector_and
from softhat.frontends.rasp.language import selector_not as selector_not
from softhat.frontends.rasp.language import selector_or as selector_or
from softhat.frontends.rasp.language import sop_not as sop_not
from softhat.frontends.rasp.language import tokens as tokens
from softhat.frontends.rasp.operations import Comparison as Comparison
from softhat.frontends.rasp.operations import Value as Value
