"""Branch and bound over the sets of servers that services stand on.

1. Reduced costs leave few sets of servers for each job (``near_sets``).
2. A node (``nodes``) fixes jobs, limits how many services stand on some servers (``counts``), and
   propagates both to the sets.
3. Its relaxation (``relaxation``, ``packing_program``) chooses sets in part, under rows of single
   servers (``burden_rows``, ``configuration_rows``). A configuration is what a server may hold at
   once (``configurations``).
4. If the bound is near, prices of single burdens bound the node by all configurations
   (``configuration_prices``, by the bundle method of ``proximal_bundle``).
5. Strong branching divides what is left (``branching``); ``tree`` searches depth first, by one
   thread or several (``depth_first``).
"""
