# SPDX-License-Identifier: Apache-2.0
"""Jobs of a small workload, for tests that need some."""


def jobs_of(count, **more):
    return [
        {
            "job": "j%d" % i,
            "submit_s": 5 * i,
            "run_s": 40 + 7 * (i % 9),
            "gpu": 1 + i % 8,
            "user": "u%d" % (i % 3),
            "queue": "ab"[i % 2],
            **more,
        }
        for i in range(count)
    ]
