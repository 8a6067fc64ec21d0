"""Our exact method for (2), which is not the paper's.

1. Jobs are inserted one after the other in a few orders: a first incumbent, by which slots are cut
   off (``one_job.planner``).
2. Simulated annealing by destroy and repair (``improve``) betters the incumbent.
3. Column generation over whole schedules of one job (``pricing``) gives a Lagrangian bound and dual
   values of the sites' limits: the capacities, and rows by rounding. A column is priced by units of
   work, and exactly by a dynamic program over the job's lattice.
4. Joint search (``joint_states``): a dynamic program over the slots whose states are the points of
   all jobs' lattices. Moves of a job within its reduced-cost limit (``joint_moves``, listed by
   ``move_listing``) are combined slot by slot (``joint_expand``). States are bounded by the dual
   values.
5. If states become too many, branch and bound divides the slots in which jobs complete
   (``branch``): columns and joint search bound each node.
6. Annealing goes on with the fractional columns until the time is over.
"""
