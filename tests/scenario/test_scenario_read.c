/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader of scenarios makes of each member. */
#include "scenario/scenario_support.h"

START_TEST(run_times_of_jobs_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    struct gang_scenario c = get(scenarios, 0);
    ck_assert_uint_eq(c.time_count, 3);
    ck_assert_uint_eq(c.times[0].run_time_count, 3);
    ck_assert_int_eq(c.times[0].run_time_ns[0], INT64_C(1500000000)); /* ascending */
    ck_assert_uint_eq(c.times[1].job, 1);
    ck_assert_int_eq(c.times[1].ran_ns, INT64_C(7250000000));
    ck_assert_uint_eq(c.times[1].run_time_count, 0);
    ck_assert_int_eq(c.times[2].run_time_ns[0], INT64_C(60000000000));
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(members_of_the_case_are_read)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    ck_assert_str_eq(c.id, "all");
    ck_assert_str_eq(c.source, "a test");
    ck_assert_uint_eq(c.need_count, 2);
    ck_assert_str_eq(c.needs[1], "reclaim");
    ck_assert_uint_eq(c.level_count, 3);
    ck_assert_str_eq(c.levels[2], "host");
    ck_assert_int_eq(c.rounds, 4);
    ck_assert_int_eq(c.quota_only, 1);
    ck_assert_str_eq(c.expect,
                     "{\"jobs\":{\"j0\":{\"state\":\"running\",\"gpus\":0.6,\"tasks_running\":2,"
                     "\"nodes\":[\"n0\"]},\"j1\":{\"state\":\"pending\"}},\"queues\":{\"q0\":"
                     "{\"gpus\":2.0,\"tasks_running\":2}},\"interchangeable\":[[\"j0\",\"j1\"]],"
                     "\"derived\":[\"j1\"]}");
    ck_assert_uint_eq(c.kind_count, 3);
    ck_assert_str_eq(c.kinds[0].unit, "ports");
    ck_assert_int_eq(c.kinds[1].scope, GANG_SCOPE_CLUSTER);
    ck_assert_int_eq(c.kinds[1].capacity, 12);
    ck_assert_str_eq(c.kinds[2].name, "tasks");
    ck_assert_str_eq(c.kinds[2].unit, "tasks");
    ck_assert_int_eq(c.kinds[2].scope, GANG_SCOPE_NODE);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(nodes_are_read)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_node_spec *n = c.nodes;
    ck_assert_uint_eq(c.node_count, 3);
    ck_assert_int_eq(n[0].cpu_milli, 64000);
    ck_assert_int_eq(n[0].memory_bytes, INT64_C(1024) << 20);
    ck_assert_uint_eq(n[0].gpu_count, 4);
    ck_assert_str_eq(n[0].gpus[3].model, "V100");
    ck_assert_int_eq(n[0].gpus[3].memory_bytes, INT64_C(16384) << 20);
    ck_assert_int_eq(n[0].gpus[3].numa, -1);
    ck_assert_int_eq(n[0].state, GANG_NODE_DRAINING);
    ck_assert_uint_eq(n[0].label_count, 2);
    ck_assert_str_eq(n[0].labels[1].value, "");
    ck_assert_uint_eq(n[0].topology_count, 2);
    ck_assert_str_eq(n[0].topology[1].key, "rack");
    ck_assert_str_eq(n[0].topology[1].value, "r0");
    ck_assert_uint_eq(n[0].amount_count, 2);
    ck_assert_str_eq(n[0].amounts[0].kind, "nic");
    ck_assert_str_eq(n[0].amounts[1].kind, "tasks");
    ck_assert_int_eq(n[0].amounts[1].amount, 40);
    ck_assert_int_eq(n[1].amounts[0].amount, GANG_MAX_AMOUNT);
    ck_assert_uint_eq(n[0].partition_count, 2);
    ck_assert_int_eq(n[0].links[0].type, GANG_LINK_NVLINK);
    ck_assert_int_eq(n[0].links[0].bandwidth_mbps, 25000);
    ck_assert_int_eq(n[0].links[1].type, GANG_LINK_OTHER);
    ck_assert_int_eq(n[0].gpu_locality[1], 4);
    ck_assert_int_eq(n[0].gpu_locality[2], 0);
    ck_assert_int_eq(n[1].cpu_milli, 2800);
    ck_assert_int_eq(n[1].memory_bytes, 1025);
    ck_assert_int_eq(n[1].state, GANG_NODE_DOWN);
    ck_assert_int_eq(n[1].numas[1].os_index, -1);
    ck_assert_int_eq(n[1].numas[1].memory_bytes, 7);
    ck_assert_int_eq(n[1].gpus[0].numa, 1);
    ck_assert_str_eq(n[1].gpus[0].uuid, "GPU-1");
    ck_assert_ptr_null(n[1].gpus[1].model);
    ck_assert_int_eq(n[1].gpus[0].state, GANG_GPU_OK);
    ck_assert_int_eq(n[1].gpus[1].state, GANG_GPU_UNHEALTHY);
    ck_assert_ptr_null(n[1].gpus[1].parent);
    ck_assert_str_eq(n[1].gpus[2].parent, "p");
    ck_assert_int_eq(n[1].gpus[2].mig_index, 0);
    ck_assert_int_eq(n[1].gpus[3].mig_index, 7);
    ck_assert_int_eq(n[1].gpus[3].state, GANG_GPU_UNHEALTHY);
    ck_assert_uint_eq(n[1].profile_count, 2);
    ck_assert_str_eq(n[1].profiles[0].model, "A");
    ck_assert_uint_eq(n[1].profiles[0].starts, 65);
    ck_assert_ptr_null(n[1].profiles[1].model);
    ck_assert_int_eq(n[1].profiles[1].width, 64);
    ck_assert_int_eq(n[1].cores[0].threads, 2);
    ck_assert_str_eq(n[1].cores[0].cpuset, "0,64");
    ck_assert_int_eq(n[1].cores[1].threads, 1);
    ck_assert_int_eq(n[1].cores[1].numa, -1);
    ck_assert_str_eq(n[1].nics[0].pci, "0000:08:00.0");
    ck_assert_uint_eq(n[2].gpu_count, 0);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(queues_are_read)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_queue_spec *q = c.queues;
    ck_assert_uint_eq(c.queue_count, 2);
    ck_assert_str_eq(q[0].parent, "p");
    ck_assert_ptr_null(q[1].parent);
    ck_assert_uint_eq(q[0].guaranteed_count, 4);
    ck_assert_str_eq(q[0].guaranteed[0].kind, "gpu");
    ck_assert_int_eq(q[0].guaranteed[0].amount, 500);
    ck_assert_int_eq(q[0].guaranteed[1].amount, 1500);
    ck_assert_str_eq(q[0].guaranteed[2].kind, "memory");
    ck_assert_int_eq(q[0].guaranteed[2].amount, 3 << 20);
    ck_assert_int_eq(q[0].guaranteed[3].amount, 2);
    ck_assert_int_eq(q[0].limit[0].amount, 5);
    ck_assert_int_eq(q[0].limit[1].amount, GANG_UNLIMITED);
    ck_assert_int_eq(q[0].lending_limit[0].amount, 4000);
    ck_assert_uint_eq(q[0].weight_count, 3);
    ck_assert_str_eq(q[0].weight_kinds[1], "memory");
    ck_assert_double_eq(q[0].weights[0], 0.1);
    ck_assert_double_eq(q[0].weight, 0.30000000000000004);
    ck_assert_int_eq(q[0].priority, -7);
    ck_assert_int_eq(q[1].priority, 100);
    ck_assert_int_eq(q[0].within, GANG_PREEMPT_LOWER_OR_NEWER);
    ck_assert_int_eq(q[0].reclaim, GANG_PREEMPT_ANY);
    ck_assert_int_eq(q[1].within, GANG_PREEMPT_USER_LIMIT);
    ck_assert_int_eq(q[1].reclaim, GANG_PREEMPT_LOWER);
    ck_assert_uint_eq(q[1].limit_count, 0);
    ck_assert_double_eq(q[1].weight, 2.5);
    ck_assert_str_eq(q[0].cells[0].level, "node");
    ck_assert_int_eq(q[0].cells[0].count, 4);
    gang_scenarios_free(scenarios);
}
END_TEST

static void is_quota(const struct gang_quota *quota, const char *kind, const char *partition,
                     int64_t amount, int64_t part, int64_t by_weight)
{
    ck_assert_str_eq(quota->kind, kind);
    ck_assert_pstr_eq(quota->partition, partition);
    ck_assert_int_eq(quota->amount, amount);
    ck_assert_int_eq(quota->fraction, part);
    ck_assert_int_eq(quota->by_weight, by_weight);
}

START_TEST(quotas_by_fraction_weight_and_partition_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    const struct gang_queue_spec *q = &get(scenarios, 0).queues[2];
    ck_assert_uint_eq(q->guaranteed_count, 5);
    is_quota(&q->guaranteed[0], "gpu", NULL, 0, 250000, 0);
    is_quota(&q->guaranteed[1], "cpu", NULL, 0, 0, 2);
    is_quota(&q->guaranteed[2], "gpu", "batch", 1500, 0, 0);
    is_quota(&q->guaranteed[3], "memory", "batch", 0, GANG_WHOLE, 0);
    is_quota(&q->guaranteed[4], "nic", "idle", GANG_UNLIMITED, 0, 0);
    is_quota(&q->limit[0], "gpu", NULL, 0, 1, 0);
    is_quota(&q->limit[1], "memory", "a@b", 77, 0, 0);
    is_quota(&q->limit[2], "memory", NULL, 3 << 20, 0, 0);
    is_quota(&q->lending_limit[0], "cpu", "batch", 1000, 0, 0);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(policies_of_queues_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    const struct gang_queue_spec *q = &get(scenarios, 0).queues[2];
    ck_assert_int_eq(q->state, GANG_QUEUE_DRAINING);
    ck_assert_int_eq(q->order, GANG_ORDER_LEAST_SERVED);
    ck_assert_int_eq(q->child_order, GANG_CHILD_ORDER_PRIORITY_UTILIZATION);
    ck_assert_int_eq(q->block, GANG_BLOCK_STRICT);
    ck_assert_int_eq(q->preempt_mode, GANG_PREEMPT_MODE_CANCEL);
    ck_assert_int_eq(q->no_preemption, 1);
    ck_assert_int_eq(q->max_running, 5);
    ck_assert_int_eq(q->max_pending, 6);
    ck_assert_int_eq(q->max_running_per_user, 7);
    ck_assert_int_eq(q->default_time_limit_ns, 100000000);
    ck_assert_int_eq(q->max_time_limit_ns, 86400 * INT64_C(1000000000));
    ck_assert_int_eq(q->user_limit, GANG_WHOLE / 4);
    ck_assert_int_eq(q->user_limit_factor, 1500000);
    ck_assert_uint_eq(q->user_count, 2);
    ck_assert_str_eq(q->users[0].user, "ann");
    ck_assert_int_eq(q->users[0].weight, GANG_WHOLE / 2);
    ck_assert_str_eq(q->submit_acl, "ann,bob staff");
    ck_assert_str_eq(q->admin_acl, " ");
    ck_assert_int_eq(q->grace_ns, INT64_C(30000000000));
    ck_assert_int_eq(q->min_runtime_ns, 0);
    ck_assert_int_eq(q->stale_ns, 1000000001);
    ck_assert_int_eq(q->fence_ns, -1);
    ck_assert_int_eq(q->max_children, 9);
    ck_assert_int_eq(q->child_idle_ns, INT64_C(3600500000000));
    ck_assert_int_eq(q->backfill, GANG_BACKFILL_EASY);
    ck_assert_int_eq(q->plan_depth, 4);
    ck_assert_int_eq(q->backfill_order, GANG_BACKFILL_ORDER_SHORTEST);
    ck_assert_int_eq(q->overrun, GANG_OVERRUN_EXTEND);
    ck_assert_int_eq(q->extend_ns, INT64_C(2500000000));
    ck_assert_int_eq(q->max_bypasses, 7);
    ck_assert_int_eq(q->max_wait_ns, INT64_C(8000000000));
    ck_assert_int_lt(q->max_blocked_ns, 0);
    ck_assert_int_eq(q->quantum_ns, 500000000);
    ck_assert_int_eq(q->quantum_rows, 3);
    ck_assert_int_eq(q->quantum_gpus, 1);
    ck_assert_int_eq(q->across, GANG_ACROSS_LOWER_CAPPED);
    ck_assert_int_eq(q->across_max_priority, -4);
    ck_assert_str_eq(q->preempt_class, "high");
    ck_assert_str_eq(q->preempts, "normal,low");
    ck_assert_int_eq(q->nonpreemptible, GANG_NONPREEMPTIBLE_LIMIT);
    ck_assert_int_eq(q->priority_weight_age, 1000);
    ck_assert_int_eq(q->priority_weight_fair_share, UINT32_MAX);
    ck_assert_int_eq(q->priority_weight_size, 2);
    ck_assert_int_eq(q->priority_weight_queue, 3);
    ck_assert_int_eq(q->priority_weight_job, 1);
    ck_assert_int_eq(q->priority_max_age_ns, INT64_C(604800000000000));
    ck_assert_int_eq(q->priority_period_ns, 500000000);
    ck_assert_int_eq(q->priority_factor, 1);
    ck_assert_int_eq(q->priority_favor_small, 1);
    ck_assert_uint_eq(q->budget_count, 4);
    ck_assert_str_eq(q->budgets[0].kind, "gpu");
    ck_assert_int_eq(q->budgets[0].amount, 7200500);
    ck_assert_int_eq(q->budgets[0].period_ns, INT64_C(86400000000000));
    ck_assert_int_eq(q->budgets[0].per_user, 1);
    ck_assert_int_eq(q->budgets[0].exhausted, GANG_BUDGET_KILL);
    ck_assert_str_eq(q->budgets[1].kind, "memory");
    ck_assert_int_eq(q->budgets[1].amount, 3 << 20);
    ck_assert_int_eq(q->budgets[1].exhausted, GANG_BUDGET_SAFE);
    ck_assert_int_eq(q->budgets[2].amount, 7);
    ck_assert_str_eq(q->budgets[3].kind, "nic");
    ck_assert_int_eq(q->surplus, GANG_SURPLUS_EVENLY);
    ck_assert_uint_eq(q->partition_count, 1);
    ck_assert_str_eq(q->partitions[0], "fast");
    ck_assert_int_eq(q->partition_borrow, GANG_PARTITION_BORROW_LAST);
    ck_assert_int_eq(q->partition_preempt, GANG_PARTITION_PREEMPT_IN_ORDER);
    ck_assert_int_eq(q->policy, GANG_POLICY_PACK);
    ck_assert_ptr_null(q->child->name);
    ck_assert_int_eq(q->child->limit[0].amount, 1000);
    ck_assert_int_eq(q->child->priority, 3);
    ck_assert_int_eq(q->child->order, GANG_ORDER_FAIR);
    ck_assert_int_eq(q->child->grace_ns, -1);
    ck_assert_str_eq(q->child->cells[0].level, "rack");
    ck_assert_int_eq(q->child->child->max_children, 2);
    ck_assert_int_eq(q->child->child->priority, 100);
    ck_assert_ptr_null(q->child->child->child);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(rules_and_the_default_queue_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    struct gang_scenario c = get(scenarios, 0);
    ck_assert_str_eq(c.default_queue, "q0");
    ck_assert_uint_eq(c.rule_count, 5);
    ck_assert_int_eq(c.rules[0].match, GANG_MATCH_ALL);
    ck_assert_int_eq(c.rules[0].fallback, GANG_FALLBACK_SKIP);
    ck_assert_ptr_null(c.rules[0].pattern);
    ck_assert_int_eq(c.rules[1].match, GANG_MATCH_USER);
    ck_assert_str_eq(c.rules[1].pattern, "a*");
    ck_assert_str_eq(c.rules[1].queue, "q1.%user");
    ck_assert_int_eq(c.rules[1].fallback, GANG_FALLBACK_REJECT);
    ck_assert_int_eq(c.rules[2].fallback, GANG_FALLBACK_DEFAULT);
    ck_assert_int_eq(c.rules[4].match, GANG_MATCH_LABEL);
    ck_assert_uint_eq(c.excluded_kind_count, 2);
    ck_assert_str_eq(c.excluded_kinds[1], "nic");
    ck_assert_int_eq(c.half_life_ns, 604800 * INT64_C(1000000000));
    ck_assert_str_eq(c.jobs[3].queue, "q1.new");
    ck_assert_ptr_null(c.jobs[4].queue);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(states_and_limits_of_jobs_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_job_spec *j = c.jobs;
    ck_assert_int_eq(j[3].preemptible, GANG_SEMI_PREEMPTIBLE);
    ck_assert_str_eq(j[3].user, "ann");
    ck_assert_uint_eq(j[3].user_group_count, 2);
    ck_assert_str_eq(j[3].user_groups[1], "ml");
    ck_assert_int_eq(j[3].time_limit_ns, INT64_C(3600250000000));
    ck_assert_int_eq(j[3].hold, 1);
    ck_assert_int_eq(j[3].loss, GANG_LOSS_REFILL);
    ck_assert_int_eq(j[3].max_restarts, 3);
    ck_assert_int_eq(j[3].parallelism, 4);
    ck_assert_str_eq(j[3].array, "sweep");
    ck_assert_int_eq(j[3].array_max_running, 7);
    ck_assert_uint_eq(j[3].partition_count, 2);
    ck_assert_str_eq(j[3].partitions[1], "slow");
    ck_assert_int_eq(j[3].restart_delay_ns, 1000000);
    ck_assert_int_eq(j[3].refill_ns, 2000000000);
    ck_assert_int_eq(j[3].start_within_ns, INT64_C(4000000000));
    ck_assert_int_eq(j[3].back_off_ns, INT64_C(5000000000));
    ck_assert_int_eq(j[3].heartbeat_ns, INT64_C(6000000000));
    ck_assert_int_eq(j[3].begin_ns, INT64_C(7000000000));
    ck_assert_int_eq(j[3].deadline_ns, INT64_C(9000500000000));
    ck_assert_int_eq(j[3].roles[0], GANG_ROLE_MEMBER);
    ck_assert_int_eq(j[3].roles[1], GANG_ROLE_CRITICAL);
    ck_assert_int_eq(j[3].roles[2], GANG_ROLE_SIDECAR);
    ck_assert_int_eq(j[3].roles[3], GANG_ROLE_UNTRACKED);
    ck_assert_int_eq(j[4].roles[0], GANG_ROLE_CHIEF);
    ck_assert_int_eq(j[4].loss, GANG_LOSS_RESTART);
    ck_assert_int_eq(j[4].hold, 0);
    ck_assert_int_eq(j[4].announced, 1);
    ck_assert_int_eq(j[4].start_full, 1);
    ck_assert_int_eq(j[3].start_full, 0);
    ck_assert_uint_eq(c.arrival_count, 3);
    ck_assert_uint_eq(c.arrivals[0].job, 4);
    ck_assert_int_eq(c.arrivals[0].at_ns, INT64_C(500000000));
    ck_assert_int_eq(c.arrivals[0].count, 1);
    ck_assert_int_eq(c.arrivals[1].group, 1);
    ck_assert_int_eq(c.arrivals[1].count, -3);
    ck_assert_int_eq(c.arrivals[2].count, 0);
    ck_assert_int_eq(j[3].announced, 0);
    ck_assert_uint_eq(j[0].group_after_count, 0);
    gang_scenarios_free(scenarios);
}
END_TEST

static void waits_for(const struct gang_scenario_after *after, size_t job, size_t other,
                      int32_t when)
{
    ck_assert_uint_eq(after->job, job);
    ck_assert_uint_eq(after->after, other);
    ck_assert_int_eq(after->when, when);
}

START_TEST(dependencies_are_read)
{
    gang_scenarios *scenarios = read_good(scheduling);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_group_after *g = c.jobs[3].group_after;
    ck_assert_uint_eq(c.after_count, 3);
    waits_for(&c.afters[0], 3, 4, GANG_AFTER_SUCCESS);
    waits_for(&c.afters[1], 3, 0, GANG_AFTER_END);
    waits_for(&c.afters[2], 4, 2, GANG_AFTER_START);
    ck_assert_uint_eq(c.jobs[3].after_count, 0);
    ck_assert_uint_eq(c.jobs[3].group_after_count, 3);
    ck_assert_int_eq(g[0].group, 1);
    ck_assert_int_eq(g[0].after, 0);
    ck_assert_int_eq(g[0].when, GANG_AFTER_SUCCESS);
    ck_assert_int_eq(g[1].after, 3);
    ck_assert_int_eq(g[1].when, GANG_AFTER_START);
    ck_assert_int_eq(g[2].group, 2);
    ck_assert_int_eq(g[2].after, 1);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(jobs_are_read)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_job_spec *j = c.jobs;
    const struct gang_group_spec *g = j[0].request.groups;
    const struct gang_group_set_spec *s = j[0].request.group_sets;
    ck_assert_uint_eq(c.job_count, 3);
    ck_assert_int_eq(j[0].priority, -5);
    ck_assert_int_eq(j[0].submit, 9);
    ck_assert_int_eq(j[0].preemptible, 0);
    ck_assert_int_eq(j[0].running, 1);
    ck_assert_int_eq(j[0].stale, 1);
    ck_assert_int_eq(j[0].never_preempts, 1);
    ck_assert_int_eq(j[0].request.min, 3);
    ck_assert_str_eq(j[0].request.same, "zone");
    ck_assert_str_eq(j[0].request.prefer, "rack");
    ck_assert_int_eq(j[0].request.policy, GANG_POLICY_SPREAD);
    /* the parent went first */
    ck_assert_uint_eq(j[0].request.group_set_count, 2);
    ck_assert_str_eq(s[0].name, "root");
    ck_assert_int_eq(s[0].parent, -1);
    ck_assert_str_eq(s[1].name, "leaf");
    ck_assert_int_eq(s[1].parent, 0);
    ck_assert_int_eq(s[1].min, 1);
    ck_assert_uint_eq(j[0].request.group_count, 3);
    ck_assert_str_eq(g[0].name, "ps");
    ck_assert_int_eq(g[0].group_set, 1);
    ck_assert_int_eq(g[0].count, 2);
    ck_assert_int_eq(g[0].min, 1);
    ck_assert_int_eq(g[0].cpu_milli, 250);
    ck_assert_int_eq(g[0].memory_bytes, 3 << 20);
    ck_assert_int_eq(g[0].gpu_milli, 2000);
    ck_assert_uint_eq(g[0].gpu_model_count, 2);
    ck_assert_uint_eq(g[0].label_count, 6);
    ck_assert_str_eq(g[0].labels[1].key, "node");
    ck_assert_uint_eq(g[0].labels[1].value_count, 2);
    ck_assert_int_eq(g[0].labels[3].op, GANG_LABEL_NOT_IN);
    ck_assert_int_eq(g[0].labels[5].op, GANG_LABEL_NOT_EXISTS);
    ck_assert_str_eq(g[0].partition, "batch");
    ck_assert_uint_eq(g[0].amount_count, 3);
    ck_assert_str_eq(g[0].amounts[2].kind, "tasks");
    ck_assert_int_eq(g[0].amounts[2].amount, 1);
    ck_assert_int_eq(g[1].min, 0); /* the job has a minimum */
    ck_assert_int_eq(g[1].gpu_milli, 125);
    ck_assert_int_eq(g[1].gpu_devices, 2);
    ck_assert_int_eq(g[2].gpu_memory_bytes, 77);
    ck_assert_int_eq(g[2].group_set, 0);
    ck_assert_ptr_null(g[2].profile);
    ck_assert_str_eq(j[1].request.groups[1].profile, "1g");
    ck_assert_int_eq(j[0].protected_groups[0], 1);
    ck_assert_int_eq(j[0].group_order[0], -3);
    ck_assert_uint_eq(j[0].place_count, 4);
    ck_assert_ptr_null(j[0].places[0].node);
    ck_assert_str_eq(j[0].places[1].node, "n0");
    ck_assert_uint_eq(j[0].places[1].device_count, 2);
    ck_assert_str_eq(j[0].places[2].devices[1], "x");
    ck_assert_uint_eq(j[0].places[3].device_count, 0);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(demands_of_tasks_are_read)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_request_spec *r = &c.jobs[2].request;
    const struct gang_group_spec *g = r->groups;
    ck_assert_int_eq(c.policy, GANG_POLICY_TOPOLOGY);
    ck_assert_uint_eq(c.partition_count, 3);
    ck_assert_str_eq(c.partitions[1].name, "idle");
    ck_assert_int_eq(c.partitions[0].mode, GANG_PARTITION_EXCLUSIVE);
    ck_assert_int_eq(c.partitions[1].mode, GANG_PARTITION_LENDING);
    ck_assert_int_eq(c.partitions[2].mode, GANG_PARTITION_SHARED);
    ck_assert_int_eq(r->policy, GANG_POLICY_BEST_FIT);
    ck_assert_int_eq(r->gpu_nodes, GANG_GPU_NODES_EXCLUDE);
    ck_assert_int_eq(r->exclusive, 1);
    ck_assert_str_eq(r->same, GANG_LEVEL_ISLAND);
    ck_assert_str_eq(r->group_sets[0].same, GANG_LEVEL_NODE);
    ck_assert_uint_eq(r->label_count, 2);
    ck_assert_str_eq(r->labels[1].key, "x");
    ck_assert_str_eq(r->labels[1].value, "");
    ck_assert_uint_eq(r->affinity_count, 3);
    ck_assert_str_eq(r->affinity[0].value, "db");
    ck_assert_str_eq(r->affinity[0].level, "rack");
    ck_assert_int_eq(r->affinity[0].colocate, 1);
    ck_assert_int_eq(r->affinity[0].soft, 1);
    ck_assert_ptr_null(r->affinity[1].value);
    ck_assert_ptr_null(r->affinity[1].level);
    ck_assert_int_eq(r->affinity[1].colocate, 0);
    ck_assert_str_eq(r->affinity[2].level, GANG_LEVEL_NODE);
    ck_assert_str_eq(g[0].where, "sku = a and not x > 3");
    ck_assert_uint_eq(g[0].label_count, 0);
    ck_assert_int_eq(g[0].numa, GANG_NUMA_STRICT);
    ck_assert_int_eq(g[0].near_nic, 1);
    ck_assert_str_eq(g[0].profile, "1g.5gb");
    ck_assert_int_eq(g[0].models_ranked, 1);
    ck_assert_str_eq(g[0].prefer, GANG_LEVEL_PCIE);
    ck_assert_int_eq(g[0].subgroup_size, 2);
    ck_assert_str_eq(g[0].subgroup_same, GANG_LEVEL_NUMA);
    ck_assert_str_eq(g[0].subgroup_prefer, GANG_LEVEL_PACKAGE);
    ck_assert_str_eq(g[0].spread, "rack");
    ck_assert_int_eq(g[0].max_skew, 1);
    ck_assert_int_eq(g[0].spread_soft, 1);
    ck_assert_int_eq(g[0].max_per_node, 2);
    ck_assert_int_eq(g[0].max_per_domain, 3);
    ck_assert_str_eq(g[0].domain_level, "zone");
    ck_assert_int_eq(g[1].numa, GANG_NUMA_NONE);
    ck_assert_uint_eq(g[1].label_count, 3);
    ck_assert_int_eq(g[1].labels[1].op, GANG_LABEL_GE);
    ck_assert_str_eq(g[1].labels[1].values[0], "-12.5");
    ck_assert_int_eq(g[1].labels[2].op, GANG_LABEL_LT);
    ck_assert_str_eq(g[1].where, "\"in\" in (\"x y\")");
    ck_assert_str_eq(g[1].spread, GANG_LEVEL_NODE);
    ck_assert_ptr_null(g[2].where);
    ck_assert_uint_eq(g[2].label_count, 2);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(a_level_of_the_case_may_be_called_like_a_built_in_one)
{
    gang_scenarios *scenarios =
        read_good("{\"levels\":[\"island\"],\"jobs\":[{\"name\":\"j\",\"tasks\":"
                  "[{\"same\":\"island\",\"spread\":\"island\"}]}]}");
    struct gang_scenario c = get(scenarios, 0);
    ck_assert_str_eq(c.jobs[0].request.groups[0].same, "island");
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(an_absent_member_has_its_default)
{
    gang_scenarios *scenarios = read_good(everything);
    struct gang_scenario c = get(scenarios, 0);
    const struct gang_job_spec *j = &c.jobs[1];
    ck_assert_int_eq(j->submit, 1);
    ck_assert_int_eq(j->preemptible, 1);
    ck_assert_int_eq(j->running, 0);
    ck_assert_int_eq(j->request.min, 0); /* the sum of the minima */
    ck_assert_int_eq(j->request.groups[0].min, 5);
    ck_assert_int_eq(j->request.groups[1].count, 1);
    ck_assert_int_eq(j->request.groups[1].min, 0);
    gang_scenarios_free(scenarios);
    scenarios = read_good("{}");
    c = get(scenarios, 0);
    ck_assert_str_eq(c.id, "");
    ck_assert_int_eq(c.rounds, 1);
    ck_assert_ptr_null(c.expect);
    ck_assert_uint_eq(c.node_count + c.queue_count + c.job_count + c.kind_count, 0);
    gang_scenarios_free(scenarios);
    scenarios = read_good(" [ ] ");
    ck_assert_uint_eq(gang_scenarios_count(scenarios), 0);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(the_minimum_of_tasks_follows_the_groups_around_them)
{
    gang_scenarios *scenarios = read_good(
        "{\"jobs\":[{\"name\":\"j\",\"groups\":[{\"name\":\"a\",\"min\":2},{\"name\":\"b\","
        "\"parent\":\"a\"},{\"name\":\"c\"}],\"tasks\":[{\"count\":4,\"group\":\"b\"},"
        "{\"count\":3,\"group\":\"c\"},{\"count\":2}]}]}");
    struct gang_scenario c = get(scenarios, 0);
    ck_assert_int_eq(c.jobs[0].request.groups[0].min, 0);
    ck_assert_int_eq(c.jobs[0].request.groups[1].min, 3);
    ck_assert_int_eq(c.jobs[0].request.groups[2].min, 2);
    gang_scenarios_free(scenarios);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("scenario_read");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, run_times_of_jobs_are_read);
    tcase_add_test(tests, members_of_the_case_are_read);
    tcase_add_test(tests, nodes_are_read);
    tcase_add_test(tests, queues_are_read);
    tcase_add_test(tests, quotas_by_fraction_weight_and_partition_are_read);
    tcase_add_test(tests, policies_of_queues_are_read);
    tcase_add_test(tests, rules_and_the_default_queue_are_read);
    tcase_add_test(tests, states_and_limits_of_jobs_are_read);
    tcase_add_test(tests, dependencies_are_read);
    tcase_add_test(tests, jobs_are_read);
    tcase_add_test(tests, demands_of_tasks_are_read);
    tcase_add_test(tests, a_level_of_the_case_may_be_called_like_a_built_in_one);
    tcase_add_test(tests, an_absent_member_has_its_default);
    tcase_add_test(tests, the_minimum_of_tasks_follows_the_groups_around_them);
    Suite *suite = suite_create("scenario_read");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
