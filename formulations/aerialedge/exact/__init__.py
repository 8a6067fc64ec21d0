"""Our exact method of packing, which is not the paper's.

1. Quick rules (``construct``) give a packing, bounds without a solver (``bounds``) a weight.
2. Arc-flow graphs (``arc_flow``) that are small are solved at once.
3. Tabu search exchanges items between nodes (``exchange``), on the lightest nodes with room for
   all, whose weight is a bound, and then on nodes a little lighter than the incumbent's.
4. Nodes are filled by knapsacks, with values of the items by several rules (``construct``).
5. Column generation over patterns ([AE3], ``problem_ae3``) gives dual values and a bound. From
   these the patterns that a lighter packing can hold are listed, if they are few, and an integer
   program chooses among them (``listing``).
6. Branch and price over patterns follows, with dives.
7. If a gap is left: more exchanges, larger arc-flow graphs, the assignment model in CP-SAT, and
   then exchanges and branch and price in turn.

``search`` holds the incumbent, the steps and their ``SearchParams``; ``method`` their order.
"""
