"""Our exact method for (2), which is not the paper's.

1. The problem falls into one for each type of worker (``method``); only parameter servers tie them.
2. Annealing by destroy and repair (``improve``, its compiled loop in ``moves``) gives a schedule.
3. Column generation over whole schedules of a job (``columns``), the servers of each type pooled,
   gives a bound; reduced costs and the incumbent leave few columns.
4. Branch and price over these branches on completion slots, then starts, then choices. Cuts say
   which servers jobs have reached by a slot: minimum cuts between runs and servers
   (``server_cuts``); and which numbers of workers fit together in a slot (``width_cuts``).
5. A whole point is split to single servers by an assignment problem (``split``). If that fails, a
   cut forbids a small set of runs that do not fit together (``conflicts``).
6. Small instances are first given to the model by server in CP-SAT, which takes turns with the
   tree: it proves instances with many equal jobs, of which the tree would look at every order.

``search`` holds the incumbent and the steps 2 to 6 for one part, and their ``SearchParams``.
"""
