# SPDX-License-Identifier: Apache-2.0
"""gangsched: gang scheduling of jobs on clusters."""
