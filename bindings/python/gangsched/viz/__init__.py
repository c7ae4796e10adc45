# SPDX-License-Identifier: Apache-2.0
"""Pictures of clusters, queues and results: for notebooks, terminals, matplotlib, and other
programs.

Nothing here decides or computes a schedule. The modules read a cluster, a tree of queues or a
result, and draw it.
"""
