"""Cluster traces: loaders that turn published files into arrays."""

from formulations.common.traces.jobs import Machines, TraceJobs

__all__ = ["Machines", "TraceJobs"]
