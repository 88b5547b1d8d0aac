"""Title, DOI and number of references of 81 papers of the corpus, as read by a person.

A line has the SHA-1 of the file, the number of references (`-`: not counted), the DOI (`-`: none printed) and the title.
"""

from __future__ import annotations

_LINES = """\
0458e331fa965a7c8c18b303fa3b0321eea94ff9 5 10.21105/jose.00200 Dust Aerosol Detection, Monitoring and Forecasting
089f6c46de8a4399840548a056d13d38e1f54da2 23 - Scheduling Problems in Transportation Networks of Line Topology
0d281938d3ff2377541704cab6ba1c4408420733 19 - Trace-based Just-in-Time Type Specialization for Dynamic Languages
0e7606dcb71e249838185424c9f9606a4b22ebfb 15 - Sparse Information Extraction: Unsupervised Language Models to the Rescue
17014b8619b9e6631ec716b80121214524cf75c3 8 10.21105/jose.00223 An R Companion for Introduction to Data Mining
1b5d7cea24b29669c2bc9eba74988deee526963d 3 - MAGNETO-PHOTOLUMINESCENCE AS A PROBE OF PHASES IN QUANTUM HALL MULTI-LAYERS
1b69af61013c779d5d3edf0a58a9346ad4db637c 12 - Information Synthesis for Answer Validation
2a774230b5328df3f8125da9b84a82d92b46a240 17 - Disk-Based Storage for Scalable Video
2ee6282885dda26d2a366ae1e5e61d1cec8ede47 19 10.21105/jose.00307 Introduction to deep learning: Carpentries-style hands-on lesson material for introducing researchers to deep learning
3254f3963dab0983304faf917a714e128d4034b5 14 10.21105/jose.00180 SNIK Graph—Visualizing Knowledge about Management of Hospital Information Systems
35c24452b2dd09a544146a2c603bbeb13d0bdf30 5 10.21105/jose.00037 Python for Atmosphere and Ocean Scientists
38daea2f58b6d96a630f77bdfd38645817d6093d 22 - Adapting Open Information Extraction to Domain-Specific Relations
40b47e287ac6dbfdddac78ece27aa7bea7e023e1 2 10.21105/jose.00016 A short course about fitting models with the scipy.optimize module
43f5ded7f640ef8cc5c6a0c6cb8ab3a2e61d5b97 3 10.21105/jose.00202 R for Data Analysis: An open-source resource for teaching and learning analytics with R
4a19612cc1e5a56796749b8beaad7be4d66d3af9 25 - Discriminative Joint Modeling of Lexical Variation and Acoustic Confusion for Automated Narrative Retelling Assessment
4c0162023a2a8865c356953089bdb4e19e294362 7 10.21105/jose.00089 An open source crash course on parameter estimation of computational models using a Bayesian optimization approach
50799ea0995206f5f2279c44328f5cf78cdbd6cc 17 - TIMP: An R Package for Modeling Multi-way Spectroscopic Measurements
50eac16c67a87821fba8eebe075bc2e9098345a0 2 10.21105/jose.00034 Org-Coursepack: A Modular and Reusable Teaching Materials Template in Org-mode
52fae21a72e56526800f525499bc0eec87d076e9 5 10.21105/jose.00090 A practical guide to climate econometrics: Navigating key decision points in weather and climate data analysis
55a73a010d7c9192c87416fcc6c76367f3398599 11 10.21105/jose.00299 Course Materials for an Introduction to Computational Chemistry Techniques
562ff571d08737e03d6182ec46e1a1a562ba4871 3 10.21105/jose.00168 pendsim: Developing, Simulating, and Visualizing Feedback Controlled Inverted Pendulum Dynamics
58f7763fb61878cd6dd20e93b4c4b4ff0ddecc0b 13 10.21105/jose.00196 Special relativity in R: the lorentz package
6b1ecfc92d0d9d82c6a9bb2eb6fc366d8dd1c89b 23 10.1109/dsde.2010.49 A New Requirement Prioritization Model for Market Driven Products Using Analytical Hierarchical Process
6d3577027ef1fd485d982761181226f2e00d3fc3 14 - Prototype-Driven Learning for Sequence Models
6f9167ddb392a43a7e36a2df1feefa184d82763e 43 - Improving detection of influential nodes in complex networks
7138888feeacf6f0da1d1312a47a989e3c757e7d 1 10.21105/jose.00260 An R reproducibility toolkit for the practical researcher
718b481f50a9d5818df3f2b3d6f6cce6784e41e4 18 10.21105/jose.00141 An Applied Geographic Information Systems and Science Course in R
75aa288988b3bdd56111f4adc540bce9e93e7536 23 10.21105/jose.00117 An Open-Source Active Learning Curriculum for Data Science in Engineering
7bcbc7d2b078a4a9b91739ba0088b41c58716869 4 - COHERENCE PROPERTIES OF QUANTUM DOT RESONANCE FLUORESCENCE
7bd5fb9a0eb634644a49f47a64fa8f147f2c60f3 6 - Generalized Markdown Architectural Decision Records: Capturing the Essence of Decisions
7d5c64b99b147d9861bc0250f9a04188e2c18aaa 17 10.21105/jose.00138 Teaching Python for Data Science: Collaborative development of a modular & interactive curriculum
8195526353df117ae34be65cf37eee13bb113132 13 10.21105/jose.00175 What and How of Machine Learning Transparency: Building Bespoke Explainability Tools with Interoperable Algorithmic Components
8323c12cac8a4689ea35d5785e2cfa852c228619 14 10.21105/jose.00015 Pynamical: Model and visualize discrete nonlinear dynamical systems, chaos, and fractals
888539a6c321e346edbfd5b93535bf9614cbee3e 5 10.21105/jose.00243 The University of Toronto Climate Downscaling Workflow: Tools and Resources for Climate Change Impact Analysis
8c240c8fbe5c1885885947ab359fc56073fb3bc0 - 10.21105/jose.00053 Happy Belly Bioinformatics: an open-source resource dedicated to helping biologists utilize bioinformatics
8dff21517f7ac744089a260dbc3e2f48649e3119 16 - Learning to Extract Relations from the Web using Minimal Supervision
93ebff34b4599f310cba8e7586d4ede31e425292 9 10.21105/jose.00042 A course on Geographic Data Science
944b1cf717cb74c05d857320f6e9843409416411 12 10.21105/jose.00032 nbgrader: A Tool for Creating and Grading Assignments in the Jupyter Notebook
947cb3fc7de376b36db6a8c6267aa8667ac99163 35 10.21105/jose.00267 Cloud-native geospatial data cube workflows with open-source tools
992f7e321be0ad12cfa410f1c3acf9cbfcb8d8a6 11 10.21105/jose.00193 The Argo Online School: An e-learning tool to get started with Argo
9961df7755f9a45858b63e6a3e178f843044901f - - Exact Solitary-wave Solutions for the General Fifth-order Shallow Water-wave Models
9a9367a659d1eca2efae1b65d7d477a50d07236c 24 - Monolingual Machine Translation for Paraphrase Generation
9af350638625ac2643718cfa819ca398ea9ef7a1 - 10.21105/jose.00209 A Data Carpentry- Style Metagenomics Workshop
9b634a5ca7b25516b22c68f23549ac2a216c1a19 17 - A Statistical Semantic Parser that Integrates Syntax and Semantics
9c95fe07bfaadc8925f57e300a9c17c8f870fc95 19 - Efficient Parsing of Syntactic and Semantic Dependency Structures
9cc0cff26e287f59aa030d7e664b97b74afc2777 20 - Smooth Sensitivity and Sampling in Private Data Analysis
9f7bf42d0ef3b895679de9f8e0f1e1bbb0961980 3 10.21105/jose.00143 ApplNumComp: An Open Access Introductory Course for Applied Numerical Computing
a2054f9be3df6d53db3100400544eab5d9c3edf2 - - Computational Rationalization: The Inverse Equilibrium Problem
a32d1afb2e18d363d4726246591081e827928fab 23 - Maximum Margin Multi-Instance Learning
a38dde0c1dc491d004163633b9d538a8eeb288d0 30 - Identifying Relations for Open Information Extraction
a7c25298c607d5bf32e3301b6b209431e2a7f830 17 - Mining Generalized Association Rules on Biomedical Literature
a7c5c0690a1d74ab781bd54f9fa7e67267cce656 16 - Approximation Algorithms for Data Placement on Parallel Disks
a8c5368c68ed6639db34d6f6265193179bd5c5d5 11 - Noisy Matrix Decomposition via Convex Relaxation: Optimal Rates in High Dimensions
b173bcaf8ab69b2f707efdeebeda410fefd47f91 21 - Indexing XML Data Stored in a Relational Database
b731cf5805ebbd28b9b39d3f5ea11d5b05ee22b1 9 10.21105/jose.00239 Practical machine learning with PyTorch
ba864341545a57f8cb993e27558fcec4ffbc7c99 12 10.21105/jose.00091 General relativity in R: visual representation of Schwarzschild space using different coordinate systems
bf108bc1794c8012905f8b4e9cd750f44753fcba 6 10.21105/jose.00027 An Introduction to Applied Bioinformatics: a free, open, and interactive text.
c4152aa792f76841decaa6e41108b5fb5c11bbc6 14 - Energy Efficient Routing Protocol for Zone based Mobile Sensor Networks
c543ac7f21c6940f243a461055742ee0bcd039b9 29 10.21105/jose.00184 The Data Behind Dark Matter: Exploring Galactic Rotation
c60e41f902d1c3b28fae1f47d7056be79fcd3d0b 19 - Ultra light bosonic dark matter and CMB
c6e501321faccc44854e7efa2d1552390e52f014 47 - Joint Feature Selection in Distributed Stochastic Learning for Large-Scale Discriminative Training in SMT
c6f4b0258780273be786e047878c2dc0d6150465 22 10.21105/jose.00035 treesiftr: An R package and server for viewing phylogenetic trees and data
c921a74c209e720534939dfa191d639e647dd242 6 - Did You Notice? Neuronal Processing of Multimodal Mobile Phone Feedback
c9746ce35f632d5a90dc438d13d6edae65d31667 12 10.21105/jose.00111 IndeterminateBeam: A Python package for solving 1D indeterminate beams
ca067fe24f2f6b870134d33ff62095e815c17fd1 13 - Combating Web Spam with TrustRank
cb5eab870260fd839a22a9b12a5c180a58d3bf56 23 10.21105/jose.00049 A graduate student-led participatory live-coding quantitative methods course in R: Experiences on initiating, developing, and teaching
d23d8274d2577ea04c48e00e19c45c1f41dce5da 4 10.21105/jose.00197 FANGS - Fire Applications with Next-Generation Satellites
e033616b4786d9ea0a632e04186f01e3b8947043 21 - Bi-criteria Algorithm for Scheduling Jobs on Cluster Platforms
e543e6053f708153e4603cc453f8b97322840aea 6 10.21105/jose.00033 ThermoState: A state manager for thermodynamics courses
e83a634295786c45969d1d0acf24070a66256b70 6 10.21105/jose.00279 Good Enough Practices in Scientific Computing: A Learning Module for Researchers
e9581d6c3917c2a7ac115794ff121ab5036e745c 18 10.21105/jose.00140 Interactive Bin Packing: A Java Application for Learning Constructive Heuristics for Combinatorial Optimization
ed55a016e98889c2e81760629a44f656b6ca02d4 32 - How to make words with vectors: Phrase generation in distributional semantics
efa98da8b71ee5c41451a040b4417dd6809297f4 6 10.21105/jose.00259 Can you predict the future? A tutorial for the National Ecological Observatory Network Ecological Forecasting Challenge
f3050b5586ddfec5da0d719338a6afa8b166985b 18 - MapReduce: Simplified Data Processing on Large Clusters
f487f5ec5c6b092fce4fe4e05b8691e73060d573 39 10.1088/1475-7516/2008/10/003 Apparent and average accelerations of the Universe
f4b228bde8873dbbfc6af13c188ab9d2a86d5c49 4 10.21105/jose.00161 Auto-eD: A visual learning tool for automatic differentiation
f505eff9c3fcfec605a3cb6e243798ac43ebabb7 1 - INTERFERENCE OF SINGLE PHOTONS FROM DISSIMILAR SINGLE PHOTON SOURCES
f9c7d71a695fcaee7d876adba78326f9c321d53f 10 10.21105/jose.00029 Mikrokosmos: an educational lambda calculus interpreter
fa546039480c79a3d8266b70fd0933f9f45aa428 16 10.21105/jose.00192 Course Materials for an Introduction to Data-Driven Chemistry
fc79074924fe1ca62f677ac2002759f2e2853689 6 10.21105/jose.00206 Manim Slides: A Python package for presenting Manim content anywhere
fd386061335563b3834cf30e8584c4f762a0299d 23 - Probabilistic XML via Markov Chains
"""


def _parse_gold() -> dict[str, tuple[str, str | None, int | None]]:
    gold = {}
    for line in _LINES.splitlines():
        key, count, doi, title = line.split(" ", 3)
        gold[key] = title, None if doi == "-" else doi, None if count == "-" else int(count)
    return gold


GOLD: dict[str, tuple[str, str | None, int | None]] = _parse_gold()
"""By the SHA-1 of the file."""
