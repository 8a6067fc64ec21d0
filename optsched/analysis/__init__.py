"""Questions about a model beside its optimum: infeasibility, lowering, duals, other solutions."""
