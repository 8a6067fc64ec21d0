"""Our exact method for the hindsight optimum, which is not a paper's.

1. Requests inserted shortest first are improved by annealing (``improve``).
2. The linear relaxation of (H1), (H2) has rows of pairs of large requests besides (``relaxation``).
   Its dual values give every start a reduced cost, and so a bound on every schedule.
3. Requests are started in the order of time (``states``). A state is what has started, the latest
   start and the memory held from then on. Memory that stayed unused before raises its bound. It is
   dropped if its bound is no better than the incumbent, or if another state with the same requests
   is as cheap, as early and as light in every round.
4. Each pass keeps at most a number of states per layer, those with the least bound; the number
   grows from pass to pass. A pass that drops none for the number is a proof. The least bound of
   those dropped is a bound on the optimum.

Waiting is allowed everywhere: a state starts a request in any round that its bound admits.
"""
