"""Questions about a model besides its optimum: infeasibility, lowering, duals, more solutions."""
