"""Our exact methods for (5) and (22), which are not the paper's.

1. Jobs are inserted one after the other: a first incumbent (``construct``).
2. Of many jobs, prices of the servers' capacities leave the few that can be among the most
   (``core_jobs``; without services only).
3. A small instance goes to the compact model first, in which resources are eliminated.
4. Without services (``target_search``), the linear relaxation bounds the number of jobs. An integer
   program chooses that many, as far from the capacities as possible, and local search places their
   nodes on servers (``packing``). If that fails, one job fewer is tried.
5. With services (``dsrp``), column generation over whole services (``service_columns``) gives a
   bound and prices. Cuts say what storage holds (``storage_cuts``), first in a relaxation to
   storage alone (``storage_relaxation``). At these prices jobs are inserted by destroy and repair
   (``job_insertion``). Simulated annealing exchanges them over sets of servers that reach all
   their nodes (``covering_sets``, ``set_exchange``).
6. If no two jobs share a service, branch and bound over these sets decides whether as many
   jobs as the bound says can be admitted (``set_tree``).
7. If a gap is left, the compact model goes on from the incumbent and the bound.

``method`` holds the order of the steps, ``incumbent`` the best schedule, the bound and the clock.
"""
