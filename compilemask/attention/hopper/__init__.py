"""The Hopper implementation: warp-specialised kernels in Gluon, for compute capability 9; imported only when chosen."""
