"""The models of the build-time benchmark, each as every tool says it."""
