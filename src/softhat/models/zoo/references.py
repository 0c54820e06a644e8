"""The literature that entries cite, by key."""

from __future__ import annotations

REFERENCES = {
    "Barceló 2024": "Barceló, Kozachinskiy, Lin, Podolskii: Logical languages accepted by transformer encoders with hard attention. ICLR 2024.",
    "Bhattamishra 2020": "Bhattamishra, Ahuja, Goyal: On the ability and limitations of transformers to recognize formal languages. EMNLP 2020.",
    "Chiang 2022": "Chiang, Cholak: Overcoming a theoretical limitation of self-attention. ACL 2022.",
    "Dwyer 1999": "Dwyer, Avrunin, Corbett: Patterns in property specifications for finite-state verification. ICSE 1999.",
    "Hahn 2020": "Hahn: Theoretical limitations of self-attention in neural sequence models. TACL 8, 2020.",
    "Hao 2022": "Hao, Angluin, Frank: Formal language recognition by hard attention transformers: perspectives from circuit complexity. TACL 10, 2022.",
    "Kamp 1968": "Kamp: Tense logic and the theory of linear order. PhD thesis, UCLA, 1968.",
    "Liu 2023": "Liu, Ash, Goel, Krishnamurthy, Zhang: Exposing attention glitches with flip-flop language modeling. NeurIPS 2023.",
    "McNaughton 1971": "McNaughton, Papert: Counter-free automata. MIT Press, 1971.",
    "Olsson 2022": "Olsson and others: In-context learning and induction heads. Transformer Circuits Thread, 2022.",
    "Simon 1975": "Simon: Piecewise testable events. Automata Theory and Formal Languages, 1975.",
    "Tomita 1982": "Tomita: Dynamic construction of finite-state automata from examples using hill-climbing. CogSci 1982.",
    "Weiss 2021": "Weiss, Goldberg, Yahav: Thinking like transformers. ICML 2021.",
    "Yang 2024a": "Yang, Chiang, Angluin: Masked hard-attention transformers recognize exactly the star-free languages. NeurIPS 2024.",
    "Yang 2024b": "Yang, Chiang: Counting like transformers: compiling temporal counting logic into softmax transformers. COLM 2024.",
    "Yang 2026": "Yang, Strobl, Chiang, Angluin: Simulating hard attention using soft attention. TACL 14, 2026.",
    "Yao 2021": "Yao, Peng, Papadimitriou, Narasimhan: Self-attention networks can process bounded hierarchical languages. ACL 2021.",
}
