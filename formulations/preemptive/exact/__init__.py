"""Our exact methods for (2), which are not the paper's.

1. The problem falls into components: jobs and the workers that they share, such as one type of
   worker (``components``). Times and prices are whole numbers of a small unit.
2. Lagrangian relaxation of the workers' capacities (2d), a component at a time: subgradient steps
   in floating point, the bound that they prove in integers alone (``lagrangian``: LB-PRICES).
   At given prices each job completes in its cheapest way on its own (``cheapest_purchase``).
3. The prices guide a schedule: jobs that are cheapest at the edge run there, shortest remaining
   work first (``shortest_first``), all others whole in the cloud. ``guided`` ends here: the method
   ``price_guided``, for whole traces.
4. Reduced-cost fixing removes every completion that no schedule better than the incumbent has
   (``completion_fixing``).
5. The compact model over the completions that are left decides (``by_component``: the method
   ``by_market``). Components share the time and the threads.

``method`` chooses by size: the compact model, ``by_market`` or ``price_guided``.
"""
