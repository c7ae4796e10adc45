/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of scenario files share: texts, reading them, and writing into memory. */
#ifndef GANG_TESTS_SCENARIO_SUPPORT_H
#define GANG_TESTS_SCENARIO_SUPPORT_H

#include <gangsched/scenario.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "scenario/scenario_in.h"
#include "support.h"

/* ---- texts with one member more ---- */

#define NODE(more) "{\"nodes\":[{\"name\":\"n\"," more "}]}"
#define QUEUE(more) "{\"levels\":[\"rack\"],\"queues\":[{\"name\":\"q\"," more "}]}"
#define JOB_TASKS(tasks, more)                                                                  \
    "{\"levels\":[\"rack\"],\"nodes\":[{\"name\":\"n\",\"gpus\":2}],\"jobs\":[{\"name\":\"j\"," \
    "\"tasks\":" tasks more "}]}"
#define RESERVE(members) "{\"reservations\":[{\"name\":\"r\"," members "}]}"
#define JOB(more) JOB_TASKS("[{\"count\":2,\"gpu\":1}]", "," more)
#define TASK(more) JOB_TASKS("[{" more "}]", "")
#define EXPECT(more)                                                                         \
    "{\"nodes\":[{\"name\":\"n\"}],\"queues\":[{\"name\":\"q\"}],\"jobs\":[{\"name\":\"j\"," \
    "\"queue\":\"q\",\"tasks\":[{}]}],\"expect\":" more "}"

/* ---- whole texts ---- */

/* Every member there is. */
static const char everything[] =
    "{\"id\":\"all\",\"source\":\"a test\",\"note\":[1,{\"x\":null}],\"caps\":7,\"tier\":\"A\","
    "\"sensitive_to\":null,\"needs\":[\"gang\",\"reclaim\"],\"quota_only\":true,"
    "\"levels\":[\"zone\",\"rack\",\"host\"],\"rounds\":4,\"policy\":\"topology\","
    "\"partitions\":[{\"name\":\"batch\",\"mode\":\"exclusive\"},"
    "{\"name\":\"idle\",\"mode\":\"lending\"},{\"name\":\"free\"}],"
    "\"kinds\":[{\"name\":\"nic\",\"unit\":\"ports\"},"
    "{\"name\":\"licence.x\",\"scope\":\"cluster\",\"capacity\":12}],"
    "\"nodes\":[{\"name\":\"n0\",\"cpus\":64,\"mem_mib\":1024,\"gpus\":4,\"gpu_mem_mib\":16384,"
    "\"gpu_model\":\"V100\",\"labels\":{\"sku\":\"a\",\"empty\":\"\"},"
    "\"topology\":{\"zone\":\"z\",\"rack\":\"r0\"},\"max_tasks\":40,\"amounts\":{\"nic\":2},"
    "\"partitions\":[\"batch\",\"debug\"],\"unschedulable\":true,"
    "\"links\":[{\"a\":0,\"b\":1,\"type\":\"nvlink\",\"hops\":1,\"bandwidth_mbps\":25000},"
    "{\"a\":2,\"b\":3,\"type\":\"other\"}],\"gpu_locality\":[\"4400\",\"4400\",\"0044\",\"0044\"]},"
    "{\"name\":\"n1\",\"cpus\":2.8000000000000003,\"mem_bytes\":1025,\"state\":\"down\","
    "\"numas\":[{\"os_index\":0,\"package\":0,\"mem_mib\":512},{\"mem_bytes\":7}],"
    "\"devices\":[{\"model\":\"A\",\"mem_bytes\":1000,\"numa\":1,\"pci\":\"0000:07:00.0\","
    "\"uuid\":\"GPU-1\",\"healthy\":true},{\"healthy\":false},"
    "{\"parent\":\"p\"},{\"parent\":\"p\",\"mig_index\":7,\"healthy\":false}],"
    "\"profiles\":[{\"name\":\"1g\",\"model\":\"A\",\"width\":1,\"starts\":[0,6]},"
    "{\"name\":\"all\",\"width\":64,\"starts\":[0]}],"
    "\"cores\":[{\"os_index\":0,\"numa\":0,\"threads\":2,\"cpuset\":\"0,64\"},{\"os_index\":1}],"
    "\"nics\":[{\"name\":\"mlx5_0\",\"pci\":\"0000:08:00.0\",\"numa\":0},{\"name\":\"eth0\"}]},"
    "{\"name\":\"n2\",\"topology\":{\"host\":\"h\"},\"gpus\":0,\"gpu_mem_mib\":5}],"
    "\"queues\":[{\"name\":\"q0\",\"parent\":\"p\",\"guaranteed\":{\"gpu\":0.5,\"cpu\":1.5,"
    "\"mem_mib\":3,\"nic\":2},\"limit\":{\"mem_bytes\":5,\"gpu\":-1,\"licence.x\":-1},"
    "\"lending_limit\":{\"cpu\":4},\"weight\":{\"gpu\":0.1,\"mem_mib\":2,\"nic\":3,"
    "\"default\":0.30000000000000004},\"priority\":-7,\"within\":\"lower-or-newer\","
    "\"reclaim\":\"any\",\"cells\":[{\"level\":\"node\",\"count\":4},"
    "{\"level\":\"rack\",\"count\":1}]},"
    "{\"name\":\"p\",\"parent\":null,\"limit\":null,\"guaranteed\":{},\"weight\":2.5,"
    "\"within\":\"user-limit\",\"reclaim\":\"lower\"}],"
    "\"jobs\":[{\"name\":\"j0\",\"queue\":\"q0\",\"priority\":-5,\"preemptible\":false,"
    "\"submit\":9,\"min\":3,\"same\":\"zone\",\"prefer\":\"rack\",\"policy\":\"spread\","
    "\"state\":\"running\",\"stale\":true,\"never_preempts\":true,"
    "\"groups\":[{\"name\":\"leaf\",\"parent\":\"root\",\"min\":1,\"same\":\"host\"},"
    "{\"name\":\"root\",\"parent\":null,\"prefer\":\"rack\"}],"
    "\"tasks\":[{\"name\":\"ps\",\"count\":2,\"min\":1,\"cpu\":0.25,\"mem_mib\":3,\"gpu\":2,"
    "\"gpu_models\":[\"V100\",\"A\"],\"group\":\"leaf\",\"selector\":{\"sku\":\"a\","
    "\"node\":[\"n0\",\"n1\"]},\"where\":[{\"key\":\"sku\",\"op\":\"in\",\"values\":[\"a\"]},"
    "{\"key\":\"x\",\"op\":\"not_in\",\"values\":[\"y\",\"z\"]},"
    "{\"key\":\"sku\",\"op\":\"exists\"},{\"key\":\"t\",\"op\":\"not_exists\"}],"
    "\"partition\":\"batch\",\"same\":\"rack\",\"prefer\":\"host\",\"protected\":true,"
    "\"order\":-3,\"amounts\":{\"nic\":1,\"licence.x\":2}},"
    "{\"count\":3,\"gpu\":0.125,\"gpu_devices\":2},"
    "{\"mem_bytes\":5,\"gpu_mem_bytes\":77,\"group\":\"root\"}],"
    "\"running_on\":[null,\"n0\",\"n0\",\"n1\"],"
    "\"running_gpu\":[null,[\"x\",\"y\"],[\"z\",\"x\"]]},"
    "{\"name\":\"j1\",\"queue\":\"q0\",\"tasks\":[{\"count\":5},{\"min\":0,\"gpu\":3,"
    "\"profile\":\"1g\"}]},"
    "{\"name\":\"j2\",\"queue\":\"q0\",\"policy\":\"best-fit\",\"gpu_nodes\":\"exclude\",\"ex"
    "clusive\":true,\"same\":\"island\",\"prefer\":\"rack\",\"labels\":{\"app\":\"db\",\""
    "x\":\"\"},\"affinity\":[{\"key\":\"app\",\"value\":\"db\",\"level\":\"rack\",\"colocate\":true"
    ",\"soft\":true},{\"key\":\"app\"},{\"key\":\"x\",\"value\":\"\",\"level\":\"node\""
    "}],\"groups\":[{\"same\":\"node\"}],\"tasks\":[{\"count\":8,\"min\":4,\"gpu\":1,\"gr"
    "oup\":0,\"where\":\"sku = a and not x > 3\",\"numa\":\"strict\",\"near_nic\":true,\""
    "profile\":\"1g.5gb\",\"models_ranked\":true,\"gpu_models\":[\"A\",\"V100\"],\"same\""
    ":\"island\",\"prefer\":\"pcie\",\"subgroup_size\":2,\"subgroup_same\":\"numa\",\"subgroup_"
    "prefer\":"
    "\"package\",\"spread\":\"rack\",\"max_skew\":1,\"spread_soft\":true,\"max_per_node\":2"
    ",\"max_per_domain\":3,\"domain_level\":\"zone\"},{\"numa\":\"none\",\"selector\":"
    "{\"sku\":\"a\"},\"where\":[{\"key\":\"mem\",\"op\":\"ge\",\"values\":[\"-12.5\"]},\""
    "\\\"in\\\" in (\\\"x y\\\")\",{\"key\":\"mem\",\"op\":\"lt\",\"values\":\"80\"}],\"s"
    "pread\":\"node\"},{\"where\":[{\"key\":\"a\",\"op\":\"le\",\"values\":[\"1\"]},{\"ke"
    "y\":\"a\",\"op\":\"gt\",\"values\":[\"0\"]}]}]}"
    "],"
    "\"expect\":{\"jobs\":{\"j0\":{\"state\":\"running\",\"gpus\":0.6,\"tasks_running\":2,"
    "\"nodes\":[\"n0\"]},\"j1\":{\"state\":\"pending\"}},\"queues\":{\"q0\":{\"gpus\":2.0,"
    "\"tasks_running\":2}},\"interchangeable\":[[\"j0\",\"j1\"]],\"derived\":[\"j1\"]}}";

/* Every member that is for the scheduler. */
static const char scheduling[] =
    "{\"id\":\"sched\",\"levels\":[\"rack\"],\"kinds\":[{\"name\":\"nic\"}],"
    "\"nodes\":[{\"name\":\"m\"}],"
    "\"queues\":[{\"name\":\"q0\",\"parent\":\"p\",\"quantum_s\":-1},{\"name\":\"p\"},"
    "{\"name\":\"q1\",\"parent\":\"p\",\"guaranteed\":{\"gpu\":{\"fraction\":0.25},"
    "\"cpu\":{\"weight\":2},\"gpu@batch\":1.5,\"mem_mib@batch\":{\"fraction\":1},"
    "\"nic@idle\":-1},\"limit\":{\"gpu\":{\"fraction\":0.000001},\"mem_bytes@a@b\":77,"
    "\"mem_mib\":3},\"lending_limit\":{\"cpu@batch\":1},\"state\":\"draining\","
    "\"order\":\"least-served\",\"child_order\":\"priority-utilization\",\"block\":\"strict\","
    "\"preempt_mode\":\"cancel\",\"no_preemption\":true,\"max_running\":5,\"max_pending\":6,"
    "\"max_running_per_user\":7,\"default_time_limit_s\":0.1,\"max_time_limit_s\":86400,"
    "\"user_limit\":0.25,\"user_limit_factor\":1.5,\"users\":{\"ann\":0.5,\"bob\":3},"
    "\"submit_acl\":\"ann,bob staff\",\"admin_acl\":\" \",\"grace_s\":30,"
    "\"min_runtime_s\":0,\"stale_s\":1.000000001,\"fence_s\":-1,\"child\":{\"limit\":{\"gpu\":1},"
    "\"priority\":3,\"order\":\"fair\",\"users\":{},\"cells\":[{\"level\":\"rack\","
    "\"count\":2}],\"child\":{\"max_children\":2}},\"max_children\":9,"
    "\"child_idle_s\":3600.5,\"policy\":\"pack\",\"backfill\":\"easy\",\"plan_depth\":4,"
    "\"backfill_order\":\"shortest\",\"overrun\":\"extend\",\"extend_s\":2.5,\"max_bypasses\":7,"
    "\"max_wait_s\":8,\"max_blocked_s\":-1,\"quantum_s\":0.5,\"quantum_rows\":3,"
    "\"quantum_gpus\":true,\"across\":\"lower-capped\",\"across_max_priority\":-4,"
    "\"preempt_class\":\"high\",\"preempts\":\"normal,low\",\"nonpreemptible\":\"limit\","
    "\"priority_weight_age\":1000,\"priority_weight_fair_share\":4294967295,"
    "\"priority_weight_size\":2,\"priority_weight_queue\":3,\"priority_weight_job\":1,"
    "\"priority_max_age_s\":604800,\"priority_period_s\":0.5,\"priority_factor\":0.000001,"
    "\"priority_favor_small\":true,\"surplus\":\"evenly\",\"partitions\":[\"fast\"],"
    "\"partition_borrow\":\"last\",\"partition_preempt\":\"in-order\","
    "\"budgets\":[{\"kind\":\"gpu\",\"amount\":7200.5,"
    "\"period_s\":86400,\"per_user\":true,\"exhausted\":\"kill\"},{\"kind\":\"mem_mib\","
    "\"amount\":3},{\"kind\":\"mem_bytes\",\"amount\":7,\"period_s\":1},"
    "{\"kind\":\"nic\",\"amount\":0}]}],"
    "\"default_queue\":\"q0\",\"rules\":[{\"queue\":\"q0\"},{\"match\":\"user\","
    "\"pattern\":\"a*\",\"queue\":\"q1.%user\",\"fallback\":\"reject\"},"
    "{\"match\":\"group\",\"queue\":\"%group\",\"fallback\":\"default\"},"
    "{\"match\":\"name\",\"queue\":\"x\"},{\"match\":\"label\",\"pattern\":\"k=v\","
    "\"queue\":\"%label.k\"}],\"excluded_kinds\":[\"memory\",\"nic\"],"
    "\"half_life_s\":604800,"
    "\"reservations\":[{\"name\":\"r0\",\"owner\":\"ann\",\"arrival_s\":1,\"deadline_s\":90000,"
    "\"duration_s\":60.5,\"period_s\":3600,\"repetitions\":5,\"until_s\":9999,"
    "\"objective\":\"cheapest\",\"combine\":\"order-no-gap\",\"flags\":[\"ignore-jobs\","
    "\"magnetic\"],"
    "\"queue\":\"q0\",\"users\":[\"ann\",\"bob\"],\"purge_s\":7,\"notice_s\":8,\"stages\":["
    "{\"duration_s\":30,\"gang_size\":4,\"exclusive\":true,\"tasks\":[{\"count\":8,\"cpu\":1.5,"
    "\"max_per_node\":2},{\"gpu\":1}]},{\"gang_size\":1,\"tasks\":[{}]}]},"
    "{\"name\":\"r1\",\"start_s\":0,\"stages\":[{\"tasks\":[{}]}]}],"
    "\"jobs\":[{\"name\":\"j0\",\"run_time_s\":[2,1.5,9],\"tasks\":[{}]},"
    "{\"name\":\"j1\",\"state\":\"running\",\"running_on\":[\"m\"],\"ran_s\":7.25,\"tasks\":[{}]},"
    "{\"name\":\"j2\",\"run_time_s\":60,\"tasks\":[{}]},"
    "{\"name\":\"j3\",\"queue\":\"q1.new\",\"preemptible\":\"above-min\","
    "\"user\":\"ann\",\"user_groups\":[\"staff\",\"ml\"],\"time_limit_s\":3600.25,"
    "\"hold\":true,\"loss\":\"refill\",\"max_restarts\":3,\"parallelism\":4,\"restart_delay_s\":0."
    "001,"
    "\"refill_s\":2,\"start_within_s\":4,\"back_off_s\":5,\"heartbeat_s\":6,\"begin_s\":7,"
    "\"deadline_s\":9000.5,\"array\":\"sweep\",\"array_max_running\":7,"
    "\"partitions\":[\"fast\",\"slow\"],"
    "\"reservation\":\"r0\","
    "\"after\":[{\"job\":\"j4\",\"when\":\"success\"},{\"job\":\"j0\",\"when\":\"end\"}],"
    "\"tasks\":[{\"name\":\"prepare\"},{\"name\":\"train\",\"role\":\"critical\","
    "\"after\":[{\"group\":\"prepare\",\"when\":\"success\"},{\"group\":3,"
    "\"when\":\"start\"}]},{\"name\":\"board\",\"role\":\"sidecar\",\"after\":"
    "[{\"group\":1,\"when\":\"end\"}]},{\"name\":\"ps\",\"role\":\"untracked\"}]},"
    "{\"name\":\"j4\",\"announced\":true,\"start_full\":true,\"arrivals\":[{\"at_s\":0.5,\"count\":"
    "1},{\"at_s\":2,"
    "\"group\":1,\"count\":-3},{\"at_s\":2,\"complete\":true}],\"preemptible\":true,\"loss\":"
    "\"restart\",\"after\":[{"
    "\"job\":"
    "\"j2\",\"when\":\"start\"}],\"tasks\":[{\"role\":\"chief\"},"
    "{\"role\":\"member\"}]}"
    "]}";

static const char *const full_texts[] = {everything, scheduling};
enum { FULL_TEXTS = sizeof(full_texts) / sizeof(full_texts[0]) };

/* ---- reading and writing ---- */

static inline gang_scenarios *read_good(const char *text)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    gang_result result = gang_scenarios_read(text, strlen(text), &scenarios, &error);
    ck_assert_msg(result == GANG_OK, "%s: %s", error.path, error.text);
    return scenarios;
}

static inline struct gang_scenario get(const gang_scenarios *scenarios, size_t index)
{
    struct gang_scenario c = GANG_SCENARIO_INIT;
    ck_assert_int_eq(gang_scenarios_get(scenarios, index, &c), GANG_OK);
    return c;
}

struct text {
    char *bytes;
    size_t length;
    size_t stop_after; /* refuse after so many bytes; 0: never */
};

static inline int keep(const char *bytes, size_t length, void *user)
{
    struct text *text = user;
    char *more = realloc(text->bytes, text->length + length + 1);
    if (!more)
        return 1;
    memcpy(more + text->length, bytes, length);
    text->bytes = more;
    text->length += length;
    more[text->length] = '\0';
    return text->stop_after && text->length > text->stop_after;
}

/* Under slow tools one in so many of many like things is enough. */
static inline size_t stride(size_t when_quick)
{
    return getenv("GANG_TEST_QUICK") ? when_quick : 1;
}

#endif
