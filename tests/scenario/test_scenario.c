/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing scenarios. */
#include <gangsched/scenario.h>

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario/scenario_in.h"
#include "support.h"

static gang_scenarios *read_good(const char *text)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    gang_result result = gang_scenarios_read(text, strlen(text), &scenarios, &error);
    ck_assert_msg(result == GANG_OK, "%s: %s", error.path, error.text);
    return scenarios;
}

static struct gang_scenario get(const gang_scenarios *scenarios, size_t index)
{
    struct gang_scenario c = GANG_SCENARIO_INIT;
    ck_assert_int_eq(gang_scenarios_get(scenarios, index, &c), GANG_OK);
    return c;
}

/* ---- what is refused ---- */

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

struct bad {
    const char *text;
    gang_result code;
    const char *path;
};

static const struct bad bad_texts[] = {
    /* files */
    {"[{},{},7]", GANG_EINVAL, "[2]"},
    {"[{},[]]", GANG_EINVAL, "[1]"},
    {"[{},{},{\"jobs\":[{\"name\":\"j\",\"tasks\":[{},{\"gpu\":\"a\"}]}]}]", GANG_EINVAL,
     "[2].jobs[0].tasks[1].gpu"},
    {"{\"nodes\":[{\"name\":\"n\",\"gpus\":1e999}]}", GANG_ERANGE, "nodes[0].gpus"},
    {"{\"nodes\":[{\"name\":\"n\",\"gpus\":NaN}]}", GANG_EPARSE, "nodes[0].gpus"},
    {"{\"nodes\":[{\"name\":\"n\",\"name\":\"m\"}]}", GANG_EEXIST, "nodes[0].name"},
    /* cases */
    {"{\"job\":[]}", GANG_EINVAL, "job"},
    {"{\"id\":7}", GANG_EINVAL, "id"},
    {"{\"source\":null}", GANG_EINVAL, "source"},
    {"{\"needs\":\"gang\"}", GANG_EINVAL, "needs"},
    {"{\"needs\":[\"gang\",\"\"]}", GANG_EINVAL, "needs[1]"},
    {"{\"needs\":[\"gang\",\"gang\"]}", GANG_EEXIST, "needs[1]"},
    {"{\"quota_only\":1}", GANG_EINVAL, "quota_only"},
    {"{\"rounds\":0}", GANG_ERANGE, "rounds"},
    {"{\"rounds\":1.5}", GANG_EINVAL, "rounds"},
    {"{\"rounds\":1000001}", GANG_ERANGE, "rounds"},
    {"{\"levels\":{}}", GANG_EINVAL, "levels"},
    {"{\"levels\":[\"a\",\"b\",\"a\"]}", GANG_EEXIST, "levels[2]"},
    {"{\"levels\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\","
     "\"13\",\"14\",\"15\",\"16\",\"17\"]}",
     GANG_ELIMIT, "levels"},
    /* kinds */
    {"{\"kinds\":[{}]}", GANG_EINVAL, "kinds[0].name"},
    {"{\"kinds\":[{\"name\":\"cpu\"}]}", GANG_EEXIST, "kinds[0].name"},
    {"{\"kinds\":[{\"name\":\"mem_mib\"}]}", GANG_EEXIST, "kinds[0].name"},
    {"{\"kinds\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", GANG_EEXIST, "kinds[1].name"},
    {"{\"kinds\":[{\"name\":\"a\",\"scope\":\"rack\"}]}", GANG_EINVAL, "kinds[0].scope"},
    {"{\"kinds\":[{\"name\":\"a\",\"capacity\":1}]}", GANG_EINVAL, "kinds[0].capacity"},
    {"{\"kinds\":[{\"name\":\"a\",\"scope\":\"cluster\",\"capacity\":-1}]}", GANG_ERANGE,
     "kinds[0].capacity"},
    {"{\"kinds\":[{\"name\":\"a\",\"scope\":\"cluster\",\"capacity\":1099511627776}]}", GANG_ERANGE,
     "kinds[0].capacity"},
    {"{\"kinds\":[{\"name\":\"tasks\"}],\"nodes\":[{\"name\":\"n\",\"max_tasks\":1}]}", GANG_EEXIST,
     "kinds[0]"},
    /* nodes */
    {"{\"nodes\":{}}", GANG_EINVAL, "nodes"},
    {"{\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]}", GANG_EEXIST,
     "nodes[2].name"},
    {"{\"nodes\":[{}]}", GANG_EINVAL, "nodes[0].name"},
    {"{\"nodes\":[{\"name\":\"\"}]}", GANG_EINVAL, "nodes[0].name"},
    {"{\"nodes\":[{\"name\":\"a\\u0007\"}]}", GANG_EINVAL, "nodes[0].name"},
    {"{\"nodes\":[{\"name\":\"a\\u0085\"}]}", GANG_EINVAL, "nodes[0].name"},
    {NODE("\"cpu\":1"), GANG_EINVAL, "nodes[0].cpu"},
    {NODE("\"cpus\":-1"), GANG_ERANGE, "nodes[0].cpus"},
    {NODE("\"cpus\":-0.0001"), GANG_ERANGE, "nodes[0].cpus"},
    {NODE("\"cpus\":4294967.296"), GANG_ERANGE, "nodes[0].cpus"},
    {NODE("\"cpus\":\"4\""), GANG_EINVAL, "nodes[0].cpus"},
    {NODE("\"mem_mib\":-1"), GANG_ERANGE, "nodes[0].mem_mib"},
    {NODE("\"mem_mib\":0.5"), GANG_EINVAL, "nodes[0].mem_mib"},
    {NODE("\"mem_mib\":4294967296"), GANG_ERANGE, "nodes[0].mem_mib"},
    {NODE("\"mem_mib\":1,\"mem_bytes\":1"), GANG_EINVAL, "nodes[0].mem_bytes"},
    {NODE("\"gpus\":65"), GANG_ELIMIT, "nodes[0].gpus"},
    {NODE("\"gpus\":-1"), GANG_ERANGE, "nodes[0].gpus"},
    {NODE("\"gpus\":0.5"), GANG_EINVAL, "nodes[0].gpus"},
    {NODE("\"gpu_mem_mib\":1"), GANG_EINVAL, "nodes[0].gpu_mem_mib"},
    {NODE("\"gpus\":1,\"gpu_mem_mib\":-1"), GANG_ERANGE, "nodes[0].gpu_mem_mib"},
    {NODE("\"gpus\":1,\"gpu_model\":7"), GANG_EINVAL, "nodes[0].gpu_model"},
    {NODE("\"gpus\":1,\"devices\":[]"), GANG_EINVAL, "nodes[0].gpus"},
    {NODE("\"devices\":[{},{\"memory\":1}]"), GANG_EINVAL, "nodes[0].devices[1].memory"},
    {NODE("\"devices\":[{\"numa\":0}]"), GANG_EINVAL, "nodes[0].devices[0].numa"},
    {NODE("\"numas\":[{}],\"devices\":[{\"numa\":1}]"), GANG_ERANGE, "nodes[0].devices[0].numa"},
    {NODE("\"numas\":[{\"os_index\":-1}]"), GANG_ERANGE, "nodes[0].numas[0].os_index"},
    {NODE("\"gpus\":2,\"links\":[{\"a\":0,\"b\":2,\"type\":\"nvlink\"}]"), GANG_ERANGE,
     "nodes[0].links[0].b"},
    {NODE("\"gpus\":2,\"links\":[{\"a\":0,\"b\":1}]"), GANG_EINVAL, "nodes[0].links[0].type"},
    {NODE("\"gpus\":2,\"links\":[{\"a\":1,\"b\":1,\"type\":\"xgmi\"}]"), GANG_EINVAL,
     "nodes[0].links[0]"},
    {NODE("\"gpus\":2,\"links\":[{\"a\":0,\"b\":1,\"type\":\"wire\"}]"), GANG_EINVAL,
     "nodes[0].links[0].type"},
    {NODE("\"gpus\":2,\"links\":[{\"a\":0,\"b\":1,\"type\":\"xgmi\"},"
          "{\"a\":1,\"b\":0,\"type\":\"xgmi\"}]"),
     GANG_EINVAL, "nodes[0].links[1]"},
    {NODE("\"links\":[{\"a\":0,\"b\":1,\"type\":\"xgmi\"}]"), GANG_EINVAL, "nodes[0].links[0].a"},
    {NODE("\"gpus\":2,\"gpu_locality\":[\"04\"]"), GANG_EINVAL, "nodes[0].gpu_locality"},
    {NODE("\"gpus\":2,\"gpu_locality\":[\"04\",\"4\"]"), GANG_EINVAL, "nodes[0].gpu_locality[1]"},
    {NODE("\"gpus\":2,\"gpu_locality\":[\"04\",\"50\"]"), GANG_EINVAL, "nodes[0].gpu_locality[1]"},
    {NODE("\"gpus\":2,\"gpu_locality\":[\"04\",\"30\"]"), GANG_EINVAL, "nodes[0].gpu_locality[1]"},
    {NODE("\"cores\":[{}]"), GANG_EINVAL, "nodes[0].cores[0].os_index"},
    {NODE("\"cores\":[{\"os_index\":0,\"threads\":0}]"), GANG_ERANGE, "nodes[0].cores[0].threads"},
    {NODE("\"cores\":[{\"os_index\":0},{\"os_index\":0}]"), GANG_EINVAL,
     "nodes[0].cores[1].os_index"},
    {NODE("\"cores\":[{\"os_index\":0,\"cpuset\":\"x\"}]"), GANG_EINVAL,
     "nodes[0].cores[0].cpuset"},
    {NODE("\"nics\":[{\"numa\":0}]"), GANG_EINVAL, "nodes[0].nics[0].name"},
    {NODE("\"devices\":[{\"healthy\":1}]"), GANG_EINVAL, "nodes[0].devices[0].healthy"},
    {NODE("\"devices\":[{\"mig_index\":0}]"), GANG_EINVAL, "nodes[0].devices[0].mig_index"},
    {NODE("\"devices\":[{\"parent\":\"p\",\"mig_index\":64}]"), GANG_ERANGE,
     "nodes[0].devices[0].mig_index"},
    {NODE("\"devices\":[{\"parent\":\"p\"},{\"parent\":\"p\"}]"), GANG_EINVAL,
     "nodes[0].gpus[1].mig_index"},
    {NODE("\"profiles\":[{\"width\":1,\"starts\":[0]}]"), GANG_EINVAL, "nodes[0].profiles[0].name"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"starts\":[0]}]"), GANG_EINVAL,
     "nodes[0].profiles[0].width"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"width\":0,\"starts\":[0]}]"), GANG_ERANGE,
     "nodes[0].profiles[0].width"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"width\":1}]"), GANG_EINVAL,
     "nodes[0].profiles[0].starts"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"width\":1,\"starts\":[]}]"), GANG_EINVAL,
     "nodes[0].profiles[0].starts"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"width\":1,\"starts\":[3,3]}]"), GANG_EEXIST,
     "nodes[0].profiles[0].starts[1]"},
    {NODE("\"profiles\":[{\"name\":\"a\",\"width\":1,\"starts\":[64]}]"), GANG_ERANGE,
     "nodes[0].profiles[0].starts[0]"},
    {NODE("\"amounts\":{\"nic\":1}"), GANG_ENOENT, "nodes[0].amounts.nic"},
    {"{\"kinds\":[{\"name\":\"nic\"}],\"nodes\":[{\"name\":\"n\",\"amounts\":{\"nic\":-1}}]}",
     GANG_ERANGE, "nodes[0].amounts.nic"},
    {"{\"kinds\":[{\"name\":\"l\",\"scope\":\"cluster\"}],\"nodes\":[{\"name\":\"n\","
     "\"amounts\":{\"l\":1}}]}",
     GANG_EINVAL, "nodes[0].amounts.l"},
    {NODE("\"max_tasks\":-1"), GANG_ERANGE, "nodes[0].max_tasks"},
    {NODE("\"max_tasks\":1,\"amounts\":{\"tasks\":1}"), GANG_EINVAL, "nodes[0].amounts.tasks"},
    {NODE("\"labels\":{\"a\":1}"), GANG_EINVAL, "nodes[0].labels.a"},
    {NODE("\"labels\":{\"\":\"x\"}"), GANG_EINVAL, "nodes[0].labels[\"\"]"},
    {NODE("\"labels\":{\"a.b/c\":null}"), GANG_EINVAL, "nodes[0].labels[\"a.b/c\"]"},
    {NODE("\"labels\":[]"), GANG_EINVAL, "nodes[0].labels"},
    {NODE("\"topology\":{\"rack\":\"r\"}"), GANG_ENOENT, "nodes[0].topology.rack"},
    {"{\"levels\":[\"rack\"],\"nodes\":[{\"name\":\"n\",\"topology\":{\"rack\":\"\"}}]}",
     GANG_EINVAL, "nodes[0].topology.rack"},
    {NODE("\"partitions\":[\"a\",\"a\"]"), GANG_EEXIST, "nodes[0].partitions[1]"},
    {NODE("\"state\":\"gone\""), GANG_EINVAL, "nodes[0].state"},
    {NODE("\"state\":\"up\",\"unschedulable\":false"), GANG_EINVAL, "nodes[0].state"},
    {NODE("\"unschedulable\":\"yes\""), GANG_EINVAL, "nodes[0].unschedulable"},
    /* queues */
    {"{\"queues\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", GANG_EEXIST, "queues[1].name"},
    {"{\"queues\":[{\"parent\":null}]}", GANG_EINVAL, "queues[0].name"},
    {QUEUE("\"parent\":\"p\""), GANG_ENOENT, "queues[0].parent"},
    {QUEUE("\"parent\":\"q\""), GANG_ECYCLE, "queues[0].parent"},
    {"{\"queues\":[{\"name\":\"z\",\"parent\":\"a\"},{\"name\":\"a\",\"parent\":\"b\"},"
     "{\"name\":\"b\",\"parent\":\"a\"}]}",
     GANG_ECYCLE, "queues[1].parent"},
    {QUEUE("\"guaranteed\":null"), GANG_EINVAL, "queues[0].guaranteed"},
    {QUEUE("\"guaranteed\":{\"tpu\":1}"), GANG_ENOENT, "queues[0].guaranteed.tpu"},
    {QUEUE("\"guaranteed\":{\"gpu\":-2}"), GANG_ERANGE, "queues[0].guaranteed.gpu"},
    {QUEUE("\"limit\":{\"gpu\":\"4\"}"), GANG_EINVAL, "queues[0].limit.gpu"},
    {QUEUE("\"limit\":{\"mem_mib\":1.5}"), GANG_EINVAL, "queues[0].limit.mem_mib"},
    {QUEUE("\"limit\":{\"mem_mib\":1,\"mem_bytes\":1}"), GANG_EINVAL, "queues[0].limit.mem_bytes"},
    {QUEUE("\"lending_limit\":[]"), GANG_EINVAL, "queues[0].lending_limit"},
    {QUEUE("\"weight\":-1"), GANG_ERANGE, "queues[0].weight"},
    {QUEUE("\"weight\":\"1\""), GANG_EINVAL, "queues[0].weight"},
    {QUEUE("\"weight\":{\"gpu\":-1}"), GANG_ERANGE, "queues[0].weight.gpu"},
    {QUEUE("\"weight\":{\"mem_bytes\":1}"), GANG_ENOENT, "queues[0].weight.mem_bytes"},
    {QUEUE("\"priority\":1.5"), GANG_EINVAL, "queues[0].priority"},
    {QUEUE("\"priority\":9223372036854775808"), GANG_ERANGE, "queues[0].priority"},
    {QUEUE("\"within\":\"any\""), GANG_EINVAL, "queues[0].within"},
    {QUEUE("\"reclaim\":\"lower-or-newer\""), GANG_EINVAL, "queues[0].reclaim"},
    {QUEUE("\"cells\":[{\"level\":\"pair\",\"count\":1}]"), GANG_ENOENT,
     "queues[0].cells[0].level"},
    {QUEUE("\"cells\":[{\"level\":null,\"count\":1}]"), GANG_EINVAL, "queues[0].cells[0].level"},
    {QUEUE("\"cells\":[{\"level\":\"rack\"}]"), GANG_EINVAL, "queues[0].cells[0].count"},
    {QUEUE("\"cells\":[{\"level\":\"node\",\"count\":0}]"), GANG_ERANGE,
     "queues[0].cells[0].count"},
    {QUEUE("\"guaranteed\":{\"gpu@\":1}"), GANG_EINVAL, "queues[0].guaranteed[\"gpu@\"]"},
    {QUEUE("\"guaranteed\":{\"tpu@p\":1}"), GANG_ENOENT, "queues[0].guaranteed[\"tpu@p\"]"},
    {QUEUE("\"guaranteed\":{\"gpu@a\\u0007\":1}"), GANG_EINVAL, "queues[0].guaranteed[\"gpu@a?\"]"},
    {QUEUE("\"limit\":{\"mem_mib@p\":1,\"mem_bytes@p\":1}"), GANG_EINVAL,
     "queues[0].limit[\"mem_bytes@p\"]"},
    {QUEUE("\"guaranteed\":{\"gpu\":{}}"), GANG_EINVAL, "queues[0].guaranteed.gpu"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"fraction\":0}}"), GANG_ERANGE,
     "queues[0].guaranteed.gpu.fraction"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"fraction\":1.1}}"), GANG_ERANGE,
     "queues[0].guaranteed.gpu.fraction"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"fraction\":\"half\"}}"), GANG_EINVAL,
     "queues[0].guaranteed.gpu.fraction"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"weight\":0}}"), GANG_ERANGE,
     "queues[0].guaranteed.gpu.weight"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"weight\":0.5}}"), GANG_EINVAL,
     "queues[0].guaranteed.gpu.weight"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"fraction\":0.5,\"weight\":1}}"), GANG_EINVAL,
     "queues[0].guaranteed.gpu.weight"},
    {QUEUE("\"guaranteed\":{\"gpu\":{\"amount\":1}}"), GANG_EINVAL,
     "queues[0].guaranteed.gpu.amount"},
    {QUEUE("\"limit\":{\"gpu\":{\"weight\":1}}"), GANG_EINVAL, "queues[0].limit.gpu.weight"},
    {QUEUE("\"lending_limit\":{\"gpu\":{\"fraction\":0.5}}"), GANG_EINVAL,
     "queues[0].lending_limit.gpu"},
    {QUEUE("\"state\":\"shut\""), GANG_EINVAL, "queues[0].state"},
    {QUEUE("\"order\":\"random\""), GANG_EINVAL, "queues[0].order"},
    {QUEUE("\"child_order\":1"), GANG_EINVAL, "queues[0].child_order"},
    {QUEUE("\"block\":true"), GANG_EINVAL, "queues[0].block"},
    {QUEUE("\"preempt_mode\":\"kill\""), GANG_EINVAL, "queues[0].preempt_mode"},
    {QUEUE("\"backfill\":\"some\""), GANG_EINVAL, "queues[0].backfill"},
    {QUEUE("\"backfill_order\":\"fifo\""), GANG_EINVAL, "queues[0].backfill_order"},
    {QUEUE("\"plan_depth\":-1"), GANG_ERANGE, "queues[0].plan_depth"},
    {QUEUE("\"plan_depth\":true"), GANG_EINVAL, "queues[0].plan_depth"},
    {QUEUE("\"overrun\":\"go on\""), GANG_EINVAL, "queues[0].overrun"},
    {QUEUE("\"extend_s\":-1"), GANG_ERANGE, "queues[0].extend_s"},
    {QUEUE("\"max_bypasses\":-1"), GANG_ERANGE, "queues[0].max_bypasses"},
    {QUEUE("\"max_wait_s\":\"1\""), GANG_EINVAL, "queues[0].max_wait_s"},
    {QUEUE("\"quantum_s\":-2"), GANG_ERANGE, "queues[0].quantum_s"},
    {QUEUE("\"quantum_s\":\"short\""), GANG_EINVAL, "queues[0].quantum_s"},
    {QUEUE("\"quantum_rows\":65536"), GANG_ERANGE, "queues[0].quantum_rows"},
    {QUEUE("\"quantum_gpus\":2"), GANG_EINVAL, "queues[0].quantum_gpus"},
    {QUEUE("\"no_preemption\":1"), GANG_EINVAL, "queues[0].no_preemption"},
    {QUEUE("\"max_running\":-1"), GANG_ERANGE, "queues[0].max_running"},
    {QUEUE("\"max_pending\":0.5"), GANG_EINVAL, "queues[0].max_pending"},
    {QUEUE("\"max_running_per_user\":\"1\""), GANG_EINVAL, "queues[0].max_running_per_user"},
    {QUEUE("\"default_time_limit_s\":-0.1"), GANG_ERANGE, "queues[0].default_time_limit_s"},
    {QUEUE("\"max_time_limit_s\":1e10"), GANG_ERANGE, "queues[0].max_time_limit_s"},
    {QUEUE("\"max_time_limit_s\":\"1h\""), GANG_EINVAL, "queues[0].max_time_limit_s"},
    {QUEUE("\"user_limit_percent\":101"), GANG_ERANGE, "queues[0].user_limit_percent"},
    {QUEUE("\"user_limit_factor\":-1"), GANG_ERANGE, "queues[0].user_limit_factor"},
    {QUEUE("\"users\":[]"), GANG_EINVAL, "queues[0].users"},
    {QUEUE("\"users\":{\"a\":0}"), GANG_ERANGE, "queues[0].users.a"},
    {QUEUE("\"users\":{\"\":1}"), GANG_EINVAL, "queues[0].users[\"\"]"},
    {QUEUE("\"submit_acl\":null"), GANG_EINVAL, "queues[0].submit_acl"},
    {QUEUE("\"admin_acl\":\"a\\n\""), GANG_EINVAL, "queues[0].admin_acl"},
    {QUEUE("\"grace_s\":-1"), GANG_ERANGE, "queues[0].grace_s"},
    {QUEUE("\"min_runtime_s\":true"), GANG_EINVAL, "queues[0].min_runtime_s"},
    {QUEUE("\"stale_s\":null"), GANG_EINVAL, "queues[0].stale_s"},
    {QUEUE("\"child\":null"), GANG_EINVAL, "queues[0].child"},
    {QUEUE("\"child\":{\"name\":\"c\"}"), GANG_EINVAL, "queues[0].child.name"},
    {QUEUE("\"child\":{\"child\":{\"order\":1}}"), GANG_EINVAL, "queues[0].child.child.order"},
    {QUEUE("\"max_children\":-1"), GANG_ERANGE, "queues[0].max_children"},
    {QUEUE("\"child_idle_s\":{}"), GANG_EINVAL, "queues[0].child_idle_s"},
    {QUEUE("\"policy\":\"host\""), GANG_EINVAL, "queues[0].policy"},
    {QUEUE("\"cookie\":1"), GANG_EINVAL, "queues[0].cookie"},
    /* how jobs come to queues */
    {"{\"default_queue\":\"q\"}", GANG_ENOENT, "default_queue"},
    {"{\"queues\":[{\"name\":\"q\",\"child\":{}}],\"default_queue\":\"q\"}", GANG_EINVAL,
     "default_queue"},
    {"{\"queues\":[{\"name\":\"q\",\"child\":{}}],\"default_queue\":\"q.\"}", GANG_ENOENT,
     "default_queue"},
    {"{\"queues\":[{\"name\":\"q\"}],\"default_queue\":\"q.x\"}", GANG_ENOENT, "default_queue"},
    {"{\"rules\":{}}", GANG_EINVAL, "rules"},
    {"{\"rules\":[{}]}", GANG_EINVAL, "rules[0].queue"},
    {"{\"rules\":[{\"queue\":\"q\",\"match\":\"host\"}]}", GANG_EINVAL, "rules[0].match"},
    {"{\"rules\":[{\"queue\":\"q\",\"pattern\":1}]}", GANG_EINVAL, "rules[0].pattern"},
    {"{\"rules\":[{\"queue\":\"q\",\"fallback\":\"\"}]}", GANG_EINVAL, "rules[0].fallback"},
    {"{\"rules\":[{\"queue\":\"q\",\"user\":\"a\"}]}", GANG_EINVAL, "rules[0].user"},
    {"{\"excluded_kinds\":[\"gpu\",\"mem_mib\"]}", GANG_ENOENT, "excluded_kinds[1]"},
    {"{\"excluded_kinds\":[\"gpu\",\"gpu\"]}", GANG_EEXIST, "excluded_kinds[1]"},
    {"{\"half_life_s\":-1}", GANG_ERANGE, "half_life_s"},
    /* jobs */
    {"{\"jobs\":[{\"name\":\"j\"}]}", GANG_EINVAL, "jobs[0].tasks"},
    {JOB("\"preemptible\":\"above\""), GANG_EINVAL, "jobs[0].preemptible"},
    {JOB("\"user\":\"\""), GANG_EINVAL, "jobs[0].user"},
    {JOB("\"user_groups\":[\"a\",\"a\"]"), GANG_EEXIST, "jobs[0].user_groups[1]"},
    {JOB("\"time_limit_s\":-1"), GANG_ERANGE, "jobs[0].time_limit_s"},
    {JOB("\"hold\":1"), GANG_EINVAL, "jobs[0].hold"},
    {JOB("\"loss\":\"ignore\""), GANG_EINVAL, "jobs[0].loss"},
    {JOB("\"max_restarts\":-1"), GANG_ERANGE, "jobs[0].max_restarts"},
    {JOB("\"restart_delay_s\":\"\""), GANG_EINVAL, "jobs[0].restart_delay_s"},
    {JOB("\"refill_s\":-1"), GANG_ERANGE, "jobs[0].refill_s"},
    {JOB("\"start_within_s\":-1"), GANG_ERANGE, "jobs[0].start_within_s"},
    {JOB("\"back_off_s\":-1"), GANG_ERANGE, "jobs[0].back_off_s"},
    {JOB("\"begin_s\":-1"), GANG_ERANGE, "jobs[0].begin_s"},
    {JOB("\"reservation\":\"r\""), GANG_ENOENT, "jobs[0].reservation"},

    /* reservations */
    {"{\"reservations\":[{\"stages\":[]}]}", GANG_EINVAL, "reservations[0].name"},
    {"{\"reservations\":[{\"name\":\"r\"}]}", GANG_EINVAL, "reservations[0].stages"},
    {RESERVE("\"stages\":[]"), GANG_EINVAL, "reservations[0].stages"},
    {RESERVE("\"stages\":[{}]"), GANG_EINVAL, "reservations[0].stages[0]"},
    {RESERVE("\"stages\":[{\"nodes\":[\"n\"]}]"), GANG_ENOENT,
     "reservations[0].stages[0].nodes[0]"},
    {RESERVE("\"stages\":[{\"level\":\"rack\"}]"), GANG_ENOENT, "reservations[0].stages[0].level"},
    {RESERVE("\"stages\":[{\"tasks\":[]}]"), GANG_EINVAL, "reservations[0].stages[0].tasks"},
    {RESERVE("\"stages\":[{\"tasks\":[{\"role\":\"chief\"}]}]"), GANG_EINVAL,
     "reservations[0].stages[0].tasks[0].role"},
    {RESERVE("\"start_s\":-1"), GANG_ERANGE, "reservations[0].start_s"},
    {RESERVE("\"prefer\":\"best\""), GANG_EINVAL, "reservations[0].objective"},
    {RESERVE("\"flags\":[\"flex\",\"flex\"]"), GANG_EEXIST, "reservations[0].flags[1]"},
    {RESERVE("\"flags\":[\"float\"]"), GANG_EINVAL, "reservations[0].flags[0]"},
    {RESERVE("\"queue\":\"q\""), GANG_ENOENT, "reservations[0].queue"},
    {RESERVE("\"job\":\"j\""), GANG_EINVAL, "reservations[0].job"},
    {"{\"reservations\":[{\"name\":\"r\",\"stages\":[{\"tasks\":[{}]}]},{\"name\":\"r\","
     "\"stages\":[{\"tasks\":[{}]}]}]}",
     GANG_EEXIST, "reservations[1].name"},
    {JOB("\"deadline_s\":true"), GANG_EINVAL, "jobs[0].deadline_s"},
    {JOB("\"heartbeat_s\":-1"), GANG_ERANGE, "jobs[0].heartbeat_s"},
    {JOB("\"cookie\":1"), GANG_EINVAL, "jobs[0].cookie"},
    {JOB("\"ran_s\":1"), GANG_EINVAL, "jobs[0].ran_s"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\"],\"ran_s\":-1"), GANG_ERANGE,
     "jobs[0].ran_s"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\"],\"ran_s\":9,\"time_limit_s\":9"),
     GANG_ERANGE, "jobs[0].ran_s"},
    {JOB("\"run_time_s\":0"), GANG_ERANGE, "jobs[0].run_time_s"},
    {JOB("\"run_time_s\":\"1h\""), GANG_EINVAL, "jobs[0].run_time_s"},
    {JOB("\"run_time_s\":[]"), GANG_EINVAL, "jobs[0].run_time_s"},
    {JOB("\"run_time_s\":[5,-1]"), GANG_ERANGE, "jobs[0].run_time_s[1]"},
    {JOB("\"after\":{}"), GANG_EINVAL, "jobs[0].after"},
    {JOB("\"after\":[{\"job\":\"j\"}]"), GANG_EINVAL, "jobs[0].after[0].when"},
    {JOB("\"after\":[{\"when\":\"end\"}]"), GANG_EINVAL, "jobs[0].after[0].job"},
    {JOB("\"after\":[{\"job\":\"j\",\"when\":\"never\"}]"), GANG_EINVAL, "jobs[0].after[0].when"},
    {JOB("\"after\":[{\"job\":\"k\",\"when\":\"end\"}]"), GANG_ENOENT, "jobs[0].after[0].job"},
    {JOB("\"after\":[{\"job\":0,\"when\":\"end\"}]"), GANG_EINVAL, "jobs[0].after[0].job"},
    {JOB("\"after\":[{\"job\":\"j\",\"when\":\"end\"}]"), GANG_ECYCLE, "jobs[0].after[0]"},
    {"{\"jobs\":[{\"name\":\"a\",\"tasks\":[{}],\"after\":[{\"job\":\"b\",\"when\":"
     "\"end\"}]},{\"name\":\"b\",\"tasks\":[{}],\"after\":[{\"job\":\"c\",\"when\":"
     "\"end\"}]},{\"name\":\"c\",\"tasks\":[{}],\"after\":[{\"job\":\"d\",\"when\":"
     "\"end\"},{\"job\":\"b\",\"when\":\"end\"}]},{\"name\":\"d\",\"tasks\":[{}]}]}",
     GANG_ECYCLE, "jobs[2].after[1]"},
    {"{\"jobs\":[{\"name\":\"a\",\"tasks\":[{}]},{\"name\":\"b\",\"tasks\":[{}],\"after\":"
     "[{\"job\":\"a\",\"when\":\"end\"},{\"job\":\"a\",\"when\":\"start\"}]}]}",
     GANG_EEXIST, "jobs[1].after[1].job"},
    {TASK("\"role\":\"boss\""), GANG_EINVAL, "jobs[0].tasks[0].role"},
    {TASK("\"after\":[{\"group\":1,\"when\":\"end\"}]"), GANG_ERANGE,
     "jobs[0].tasks[0].after[0].group"},
    {TASK("\"after\":[{\"group\":0.0,\"when\":\"end\"}]"), GANG_EINVAL,
     "jobs[0].tasks[0].after[0].group"},
    {TASK("\"after\":[{\"group\":\"x\",\"when\":\"end\"}]"), GANG_ENOENT,
     "jobs[0].tasks[0].after[0].group"},
    {TASK("\"after\":[{\"group\":0,\"when\":\"end\"}]"), GANG_ECYCLE, "jobs[0].tasks[0].after[0]"},
    {JOB_TASKS("[{\"name\":\"x\"},{\"name\":\"x\"},{\"after\":[{\"group\":\"x\",\"when\":"
               "\"end\"}]}]",
               ""),
     GANG_EINVAL, "jobs[0].tasks[2].after[0].group"},
    {"{\"jobs\":[{\"name\":\"j\",\"tasks\":[]}]}", GANG_EINVAL, "jobs[0].tasks"},
    {"{\"jobs\":[{\"tasks\":[{}]}]}", GANG_EINVAL, "jobs[0].name"},
    {"{\"jobs\":[{\"name\":\"j\",\"tasks\":[{}]},{\"name\":\"j\",\"tasks\":[{}]}]}", GANG_EEXIST,
     "jobs[1].name"},
    {JOB("\"queue\":\"q\""), GANG_ENOENT, "jobs[0].queue"},
    {"{\"queues\":[{\"name\":\"q\"}],\"jobs\":[{\"name\":\"j\",\"tasks\":[{}]}]}", GANG_EINVAL,
     "jobs[0].queue"},
    {"{\"queues\":[{\"name\":\"p\"},{\"name\":\"q\",\"parent\":\"p\"}],\"jobs\":[{\"name\":\"j\","
     "\"queue\":\"p\",\"tasks\":[{}]}]}",
     GANG_EINVAL, "jobs[0].queue"},
    {JOB("\"priority\":0.5"), GANG_EINVAL, "jobs[0].priority"},
    {JOB("\"submit\":-1"), GANG_ERANGE, "jobs[0].submit"},
    {JOB("\"preemptible\":0"), GANG_EINVAL, "jobs[0].preemptible"},
    {JOB("\"stale\":null"), GANG_EINVAL, "jobs[0].stale"},
    {JOB("\"never_preempts\":\"\""), GANG_EINVAL, "jobs[0].never_preempts"},
    {JOB("\"min\":0"), GANG_ERANGE, "jobs[0].min"},
    {JOB("\"min\":3"), GANG_ERANGE, "jobs[0].min"},
    {JOB("\"same\":\"zone\""), GANG_ENOENT, "jobs[0].same"},
    {JOB("\"prefer\":7"), GANG_EINVAL, "jobs[0].prefer"},
    {JOB("\"policy\":\"best\""), GANG_EINVAL, "jobs[0].policy"},
    {JOB("\"state\":\"preempted\""), GANG_EINVAL, "jobs[0].state"},
    {TASK("\"where\":\"\""), GANG_EPARSE, "jobs[0].tasks[0].where"},
    {TASK("\"where\":\"a =\""), GANG_EPARSE, "jobs[0].tasks[0].where"},
    {TASK("\"where\":\"a = \\\"\\u0001\\\"\""), GANG_EINVAL, "jobs[0].tasks[0].where"},
    {TASK("\"where\":7"), GANG_EINVAL, "jobs[0].tasks[0].where"},
    {TASK("\"where\":[\"a\",\"b\"]"), GANG_EEXIST, "jobs[0].tasks[0].where[1]"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"exists\"},\"a = (\"]"), GANG_EPARSE,
     "jobs[0].tasks[0].where[1]"},
    {TASK("\"where\":[7]"), GANG_EINVAL, "jobs[0].tasks[0].where[0]"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"lt\",\"values\":[\"x\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"ge\",\"values\":[\"1\",\"2\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"gt\",\"values\":[1]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values[0]"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"le\"}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"eq\",\"values\":[\"1\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].op"},
    {TASK("\"numa\":\"near\""), GANG_EINVAL, "jobs[0].tasks[0].numa"},
    {TASK("\"numa\":1"), GANG_EINVAL, "jobs[0].tasks[0].numa"},
    {TASK("\"near_nic\":1"), GANG_EINVAL, "jobs[0].tasks[0].near_nic"},
    {TASK("\"models_ranked\":\"yes\""), GANG_EINVAL, "jobs[0].tasks[0].models_ranked"},
    {TASK("\"profile\":\"1g\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":0.5,\"profile\":\"1g\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":1,\"gpu_devices\":1,\"profile\":\"1g\""), GANG_EINVAL,
     "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":1,\"profile\":\"\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"same\":\"pcie\""), GANG_EINVAL, "jobs[0].tasks[0].same"},
    {TASK("\"prefer\":\"island\""), GANG_EINVAL, "jobs[0].tasks[0].prefer"},
    {TASK("\"same\":\"socket\""), GANG_ENOENT, "jobs[0].tasks[0].same"},
    {TASK("\"subgroup_size\":2,\"subgroup_same\":\"rack\""), GANG_ERANGE,
     "jobs[0].tasks[0].subgroup_size"},
    {TASK("\"count\":4,\"subgroup_size\":0,\"subgroup_same\":\"rack\""), GANG_ERANGE,
     "jobs[0].tasks[0].subgroup_size"},
    {TASK("\"count\":4,\"subgroup_size\":3,\"subgroup_same\":\"rack\""), GANG_EINVAL,
     "jobs[0].tasks[0].subgroup_size"},
    {TASK("\"count\":4,\"min\":3,\"subgroup_size\":2,\"subgroup_same\":\"rack\""), GANG_EINVAL,
     "jobs[0].tasks[0].subgroup_size"},
    {TASK("\"count\":4,\"subgroup_size\":2"), GANG_EINVAL, "jobs[0].tasks[0].subgroup_size"},
    {TASK("\"subgroup_same\":\"rack\""), GANG_EINVAL, "jobs[0].tasks[0].subgroup_same"},
    {TASK("\"subgroup_prefer\":\"rack\""), GANG_EINVAL, "jobs[0].tasks[0].subgroup_prefer"},
    {TASK("\"subgroup_size\":1,\"subgroup_same\":\"island\""), GANG_EINVAL,
     "jobs[0].tasks[0].subgroup_same"},
    {TASK("\"subgroup_size\":1,\"subgroup_prefer\":\"row\""), GANG_ENOENT,
     "jobs[0].tasks[0].subgroup_prefer"},
    {TASK("\"spread\":\"numa\""), GANG_EINVAL, "jobs[0].tasks[0].spread"},
    {TASK("\"spread\":\"row\""), GANG_ENOENT, "jobs[0].tasks[0].spread"},
    {TASK("\"max_skew\":1"), GANG_EINVAL, "jobs[0].tasks[0].max_skew"},
    {TASK("\"spread\":\"rack\",\"max_skew\":0"), GANG_ERANGE, "jobs[0].tasks[0].max_skew"},
    {TASK("\"spread_soft\":true"), GANG_EINVAL, "jobs[0].tasks[0].spread_soft"},
    {TASK("\"max_per_node\":0"), GANG_ERANGE, "jobs[0].tasks[0].max_per_node"},
    {TASK("\"max_per_domain\":1"), GANG_EINVAL, "jobs[0].tasks[0].max_per_domain"},
    {TASK("\"domain_level\":\"rack\""), GANG_EINVAL, "jobs[0].tasks[0].domain_level"},
    {TASK("\"max_per_domain\":1,\"domain_level\":null"), GANG_EINVAL,
     "jobs[0].tasks[0].max_per_domain"},
    {TASK("\"max_per_domain\":1,\"domain_level\":\"package\""), GANG_EINVAL,
     "jobs[0].tasks[0].domain_level"},
    {JOB("\"policy\":\"host\""), GANG_EINVAL, "jobs[0].policy"},
    {JOB("\"gpu_nodes\":\"never\""), GANG_EINVAL, "jobs[0].gpu_nodes"},
    {JOB("\"exclusive\":1"), GANG_EINVAL, "jobs[0].exclusive"},
    {JOB("\"labels\":[]"), GANG_EINVAL, "jobs[0].labels"},
    {JOB("\"labels\":{\"a\":7}"), GANG_EINVAL, "jobs[0].labels.a"},
    {JOB("\"labels\":{\"\":\"b\"}"), GANG_EINVAL, "jobs[0].labels[\"\"]"},
    {JOB("\"affinity\":{}"), GANG_EINVAL, "jobs[0].affinity"},
    {JOB("\"affinity\":[{}]"), GANG_EINVAL, "jobs[0].affinity[0].key"},
    {JOB("\"affinity\":[{\"key\":\"\"}]"), GANG_EINVAL, "jobs[0].affinity[0].key"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"value\":7}]"), GANG_EINVAL, "jobs[0].affinity[0].value"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"level\":\"numa\"}]"), GANG_EINVAL,
     "jobs[0].affinity[0].level"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"level\":\"row\"}]"), GANG_ENOENT,
     "jobs[0].affinity[0].level"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"colocate\":1}]"), GANG_EINVAL,
     "jobs[0].affinity[0].colocate"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"soft\":\"x\"}]"), GANG_EINVAL, "jobs[0].affinity[0].soft"},
    {JOB("\"affinity\":[{\"key\":\"a\",\"far\":true}]"), GANG_EINVAL, "jobs[0].affinity[0].far"},
    {"{\"policy\":\"host\"}", GANG_EINVAL, "policy"},
    {"{\"policy\":1}", GANG_EINVAL, "policy"},
    {"{\"partitions\":{}}", GANG_EINVAL, "partitions"},
    {"{\"partitions\":[{\"mode\":\"shared\"}]}", GANG_EINVAL, "partitions[0].name"},
    {"{\"partitions\":[{\"name\":\"a\",\"mode\":\"open\"}]}", GANG_EINVAL, "partitions[0].mode"},
    {"{\"partitions\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", GANG_EEXIST, "partitions[1].name"},
    {"{\"partitions\":[{\"name\":\"a\",\"size\":1}]}", GANG_EINVAL, "partitions[0].size"},
    {JOB("\"state\":\"running\""), GANG_EINVAL, "jobs[0].running_on"},
    {JOB("\"state\":\"running\",\"running_on\":[null,null]"), GANG_EINVAL, "jobs[0].running_on"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\",\"n\",\"n\"]"), GANG_EINVAL,
     "jobs[0].running_on"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\",\"m\"]"), GANG_ENOENT,
     "jobs[0].running_on[1]"},
    {JOB("\"running_on\":[\"n\"]"), GANG_EINVAL, "jobs[0].running_on"},
    {JOB("\"running_gpu\":[]"), GANG_EINVAL, "jobs[0].running_gpu"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\"],\"running_gpu\":[[\"0\"],[\"1\"]]"),
     GANG_EINVAL, "jobs[0].running_gpu"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\"],\"running_gpu\":[[\"0\",\"1\"]]"),
     GANG_EINVAL, "jobs[0].running_gpu[0]"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\"],\"running_gpu\":[[0]]"), GANG_EINVAL,
     "jobs[0].running_gpu[0][0]"},
    {JOB("\"state\":\"running\",\"running_on\":[\"n\",null],\"running_gpu\":[null,[\"0\"]]"),
     GANG_EINVAL, "jobs[0].running_gpu[1]"},
    /* groups */
    {JOB("\"groups\":[{\"name\":\"g\"},{\"name\":\"g\"}]"), GANG_EEXIST, "jobs[0].groups[1].name"},
    {JOB("\"groups\":[{\"name\":\"g\",\"parent\":\"h\"}]"), GANG_ENOENT,
     "jobs[0].groups[0].parent"},
    {JOB("\"groups\":[{\"name\":\"g\",\"parent\":1.5}]"), GANG_EINVAL, "jobs[0].groups[0].parent"},
    {JOB("\"groups\":[{\"name\":\"g\",\"parent\":1}]"), GANG_ERANGE, "jobs[0].groups[0].parent"},
    {JOB("\"groups\":[{\"name\":\"g\",\"parent\":\"g\"}]"), GANG_ECYCLE,
     "jobs[0].groups[0].parent"},
    {JOB("\"groups\":[{\"name\":\"a\",\"parent\":\"b\"},{\"name\":\"b\",\"parent\":\"a\"}]"),
     GANG_ECYCLE, "jobs[0].groups[0].parent"},
    {JOB("\"groups\":[{\"name\":\"a\",\"min\":-1}]"), GANG_ERANGE, "jobs[0].groups[0].min"},
    {JOB("\"groups\":[{\"name\":\"a\",\"min\":1}]"), GANG_ERANGE, "jobs[0].groups[0].min"},
    {JOB("\"groups\":[{\"name\":\"a\",\"same\":\"x\"}]"), GANG_ENOENT, "jobs[0].groups[0].same"},
    {JOB("\"groups\":[{\"count\":1}]"), GANG_EINVAL, "jobs[0].groups[0].count"},
    /* tasks */
    {TASK("\"count\":0"), GANG_ERANGE, "jobs[0].tasks[0].count"},
    {TASK("\"count\":16777217"), GANG_ERANGE, "jobs[0].tasks[0].count"},
    {JOB_TASKS("[{\"count\":16777216},{}]", ""), GANG_ERANGE, "jobs[0].tasks"},
    {TASK("\"min\":2"), GANG_ERANGE, "jobs[0].tasks[0].min"},
    {TASK("\"min\":0"), GANG_EINVAL, "jobs[0].min"},
    {TASK("\"cpu\":-0.5"), GANG_ERANGE, "jobs[0].tasks[0].cpu"},
    {TASK("\"profile\":\"p\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":0.5,\"profile\":\"p\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":2,\"gpu_devices\":2,\"profile\":\"p\""), GANG_EINVAL,
     "jobs[0].tasks[0].profile"},
    {TASK("\"gpu\":1,\"profile\":\"\""), GANG_EINVAL, "jobs[0].tasks[0].profile"},
    {TASK("\"cpus\":1"), GANG_EINVAL, "jobs[0].tasks[0].cpus"},
    {TASK("\"mem_mib\":1e30"), GANG_ERANGE, "jobs[0].tasks[0].mem_mib"},
    {TASK("\"gpu\":1.5"), GANG_EINVAL, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":0.9999"), GANG_EINVAL, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":0.0001"), GANG_ERANGE, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":-1"), GANG_ERANGE, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":65"), GANG_ERANGE, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":1,\"gpu_mem_mib\":1"), GANG_EINVAL, "jobs[0].tasks[0].gpu"},
    {TASK("\"gpu\":2,\"gpu_devices\":3"), GANG_EINVAL, "jobs[0].tasks[0].gpu_devices"},
    {TASK("\"gpu_devices\":2"), GANG_EINVAL, "jobs[0].tasks[0].gpu_devices"},
    {TASK("\"gpu\":0.5,\"gpu_devices\":0"), GANG_ERANGE, "jobs[0].tasks[0].gpu_devices"},
    {TASK("\"gpu_models\":[\"a\",\"a\"]"), GANG_EEXIST, "jobs[0].tasks[0].gpu_models[1]"},
    {TASK("\"selector\":{\"a\":7}"), GANG_EINVAL, "jobs[0].tasks[0].selector.a"},
    {TASK("\"selector\":{\"a\":[]}"), GANG_EINVAL, "jobs[0].tasks[0].selector.a"},
    {TASK("\"selector\":{\"a\":[\"x\",7]}"), GANG_EINVAL, "jobs[0].tasks[0].selector.a[1]"},
    {TASK("\"where\":[{\"op\":\"in\",\"values\":[\"x\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].key"},
    {TASK("\"where\":[{\"key\":\"a\",\"values\":[\"x\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].op"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"is\"}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].op"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"not_in\"}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values"},
    {TASK("\"where\":[{\"key\":\"a\",\"op\":\"exists\",\"values\":[\"x\"]}]"), GANG_EINVAL,
     "jobs[0].tasks[0].where[0].values"},
    {TASK("\"amounts\":{\"nic\":1}"), GANG_ENOENT, "jobs[0].tasks[0].amounts.nic"},
    {TASK("\"partition\":\"\""), GANG_EINVAL, "jobs[0].tasks[0].partition"},
    {TASK("\"group\":\"g\""), GANG_ENOENT, "jobs[0].tasks[0].group"},
    {TASK("\"group\":0"), GANG_ENOENT, "jobs[0].tasks[0].group"},
    {TASK("\"group\":null"), GANG_EINVAL, "jobs[0].tasks[0].group"},
    {TASK("\"same\":\"x\""), GANG_ENOENT, "jobs[0].tasks[0].same"},
    {TASK("\"name\":\"\""), GANG_EINVAL, "jobs[0].tasks[0].name"},
    {TASK("\"protected\":1"), GANG_EINVAL, "jobs[0].tasks[0].protected"},
    {TASK("\"order\":\"last\""), GANG_EINVAL, "jobs[0].tasks[0].order"},
    /* what is expected */
    {EXPECT("[]"), GANG_EINVAL, "expect"},
    {EXPECT("{\"job\":{}}"), GANG_EINVAL, "expect.job"},
    {EXPECT("{\"jobs\":{\"k\":{}}}"), GANG_ENOENT, "expect.jobs.k"},
    {EXPECT("{\"jobs\":{\"j\":7}}"), GANG_EINVAL, "expect.jobs.j"},
    {EXPECT("{\"jobs\":{\"j\":{\"state\":\"done\"}}}"), GANG_EINVAL, "expect.jobs.j.state"},
    {EXPECT("{\"jobs\":{\"j\":{\"gpus\":-1}}}"), GANG_ERANGE, "expect.jobs.j.gpus"},
    {EXPECT("{\"jobs\":{\"j\":{\"tasks_running\":0.5}}}"), GANG_EINVAL,
     "expect.jobs.j.tasks_running"},
    {EXPECT("{\"jobs\":{\"j\":{\"nodes\":[\"m\"]}}}"), GANG_ENOENT, "expect.jobs.j.nodes[0]"},
    {EXPECT("{\"queues\":{\"r\":{}}}"), GANG_ENOENT, "expect.queues.r"},
    {EXPECT("{\"queues\":{\"q\":{\"state\":1}}}"), GANG_EINVAL, "expect.queues.q.state"},
    {EXPECT("{\"interchangeable\":[[\"k\"]]}"), GANG_ENOENT, "expect.interchangeable[0][0]"},
    {EXPECT("{\"derived\":\"j\"}"), GANG_EINVAL, "expect.derived"},
};

START_TEST(refuses_and_names_the_place)
{
    const struct bad *bad = &bad_texts[_i];
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = (gang_scenarios *)(uintptr_t)1;
    gang_result result = gang_scenarios_read(bad->text, strlen(bad->text), &scenarios, &error);
    ck_assert_msg(result == bad->code && strcmp(error.path, bad->path) == 0,
                  "%s\n  gives %s at '%s' (%s)\n  and not %s at '%s'", bad->text,
                  gang_result_name(result), error.path, error.text, gang_result_name(bad->code),
                  bad->path);
    ck_assert_ptr_null(scenarios);
    ck_assert_int_eq(error.code, bad->code);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_uint_gt(strlen(error.text), 0);
    ck_assert_int_eq(gang_scenarios_read(bad->text, strlen(bad->text), &scenarios, NULL),
                     bad->code);
}
END_TEST

/* Under slow tools one in so many of many like things is enough. */
static size_t stride(size_t when_quick)
{
    return getenv("GANG_TEST_QUICK") ? when_quick : 1;
}

/* A text with `count` copies of `part` between `front` and `back`, separated by commas. */
static char *repeat(const char *front, const char *part, size_t count, const char *back)
{
    char *text = malloc(strlen(front) + count * (strlen(part) + 24) + strlen(back) + 1);
    ck_assert_ptr_nonnull(text);
    size_t used = (size_t)sprintf(text, "%s", front);
    for (size_t i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, "%s%s", i ? "," : "", part);
    sprintf(text + used, "%s", back);
    return text;
}

START_TEST(refuses_more_than_the_limits)
{
    static const struct {
        const char *front, *part;
        size_t count;
        const char *back, *path;
    } cases[] = {
        {"{\"nodes\":[", "0", 1048576, "]}", "nodes"},
        {"{\"queues\":[", "0", GANG_MAX_QUEUES + 1, "]}", "queues"},
        {"{\"jobs\":[{\"name\":\"j\",\"tasks\":[", "0", 4096, "]}]}", "jobs[0].tasks"},
        {"{\"jobs\":[{\"name\":\"j\",\"groups\":[", "0", 4096, "]}]}", "jobs[0].groups"},
        {"{\"nodes\":[{\"name\":\"n\",\"cores\":[", "0", 1025, "]}]}", "nodes[0].cores"},
        {"{\"nodes\":[{\"name\":\"n\",\"numas\":[", "0", 257, "]}]}", "nodes[0].numas"},
        {"{\"nodes\":[{\"name\":\"n\",\"devices\":[", "{}", 65, "]}]}", "nodes[0].devices"},
        {"{\"kinds\":[", "0", 30, "]}", "kinds"},
        {"[", "0", (1 << 20) + 1, "]", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        if (cases[i].count > 100000 && stride(2) == 2)
            continue;
        char *text = repeat(cases[i].front, cases[i].part, cases[i].count, cases[i].back);
        ck_assert_int_eq(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_ELIMIT);
        ck_assert_str_eq(error.path, cases[i].path);
        free(text);
    }
}
END_TEST

START_TEST(refuses_a_long_name)
{
    char text[400];
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    for (int length = 255; length <= 256; length++) {
        snprintf(text, sizeof(text), "{\"nodes\":[{\"name\":\"%0*d\"}]}", length, 0);
        gang_result result = gang_scenarios_read(text, strlen(text), &scenarios, &error);
        ck_assert_int_eq(result, length == 255 ? GANG_OK : GANG_ELIMIT);
        gang_scenarios_free(scenarios);
    }
    ck_assert_str_eq(error.path, "nodes[0].name");
}
END_TEST

START_TEST(refuses_deep_nesting)
{
    char text[65 * 2 + 1];
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    ck_assert_int_eq(gang_scenarios_read(text, 130, &scenarios, &error), GANG_ELIMIT);
    ck_assert_int_eq(error.line, 1);
    ck_assert_int_eq(error.column, 65);
}
END_TEST

START_TEST(refuses_a_text_beyond_the_limit_unread)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    ck_assert_int_eq(gang_scenarios_read("", (size_t)GANG_JSON_MAX_BYTES + 1, &scenarios, &error),
                     GANG_ELIMIT);
}
END_TEST

START_TEST(syntax_errors_have_line_and_column)
{
    static const char text[] = "{\n  \"nodes\": [\n    {\"name\": \"n\", \"cpus\": 1,,}\n  ]\n}";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    ck_assert_int_eq(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EPARSE);
    ck_assert_int_eq(error.line, 3);
    ck_assert_int_eq(error.column, 29);
    ck_assert_str_eq(error.path, "nodes[0]");
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    struct gang_scenario c = GANG_SCENARIO_INIT;
    ck_assert_int_eq(gang_scenarios_read(NULL, 3, &scenarios, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenarios_read("{}", 2, NULL, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenarios_read(NULL, 0, &scenarios, &error), GANG_EPARSE);
    ck_assert_int_eq(gang_scenarios_read_file(NULL, &scenarios, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenarios_read_file("x", NULL, &error), GANG_EINVAL);
    ck_assert_uint_eq(gang_scenarios_count(NULL), 0);
    gang_scenarios_free(NULL);
    scenarios = read_good("[{},{\"id\":\"b\"}]");
    ck_assert_uint_eq(gang_scenarios_count(scenarios), 2);
    ck_assert_int_eq(gang_scenarios_get(scenarios, 2, &c), GANG_ENOENT);
    ck_assert_ptr_null(c.id);
    ck_assert_int_eq(gang_scenarios_get(NULL, 0, &c), GANG_EINVAL);
    ck_assert_int_eq(gang_scenarios_get(scenarios, 0, NULL), GANG_EINVAL);
    c.size = 8;
    ck_assert_int_eq(gang_scenarios_get(scenarios, 0, &c), GANG_EINVAL);
    c.size = sizeof(c);
    ck_assert_int_eq(gang_scenarios_get(scenarios, 1, &c), GANG_OK);
    ck_assert_str_eq(c.id, "b");
    gang_scenarios_free(scenarios);
}
END_TEST

/* ---- what is read ---- */

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
    "\"within\":\"never\",\"reclaim\":\"lower\"}],"
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
    "\"user_limit_percent\":25,\"user_limit_factor\":1.5,\"users\":{\"ann\":0.5,\"bob\":3},"
    "\"submit_acl\":\"ann,bob staff\",\"admin_acl\":\" \",\"grace_s\":30,"
    "\"min_runtime_s\":0,\"stale_s\":1.000000001,\"child\":{\"limit\":{\"gpu\":1},"
    "\"priority\":3,\"order\":\"fair\",\"users\":{},\"cells\":[{\"level\":\"rack\","
    "\"count\":2}],\"child\":{\"max_children\":2}},\"max_children\":9,"
    "\"child_idle_s\":3600.5,\"policy\":\"pack\",\"backfill\":\"easy\",\"plan_depth\":4,"
    "\"backfill_order\":\"shortest\",\"overrun\":\"extend\",\"extend_s\":2.5,\"max_bypasses\":7,"
    "\"max_wait_s\":8,\"quantum_s\":0.5,\"quantum_rows\":3,\"quantum_gpus\":true}],"
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
    "\"hold\":true,\"loss\":\"refill\",\"max_restarts\":3,\"restart_delay_s\":0.001,"
    "\"refill_s\":2,\"start_within_s\":4,\"back_off_s\":5,\"heartbeat_s\":6,\"begin_s\":7,"
    "\"deadline_s\":9000.5,"
    "\"reservation\":\"r0\","
    "\"after\":[{\"job\":\"j4\",\"when\":\"success\"},{\"job\":\"j0\",\"when\":\"end\"}],"
    "\"tasks\":[{\"name\":\"prepare\"},{\"name\":\"train\",\"role\":\"critical\","
    "\"after\":[{\"group\":\"prepare\",\"when\":\"success\"},{\"group\":3,"
    "\"when\":\"start\"}]},{\"name\":\"board\",\"role\":\"sidecar\",\"after\":"
    "[{\"group\":1,\"when\":\"end\"}]},{\"name\":\"ps\",\"role\":\"untracked\"}]},"
    "{\"name\":\"j4\",\"preemptible\":true,\"loss\":\"restart\",\"after\":[{\"job\":"
    "\"j2\",\"when\":\"start\"}],\"tasks\":[{\"role\":\"chief\"},"
    "{\"role\":\"member\"}]}"
    "]}";

static const char *const full_texts[] = {everything, scheduling};
enum { FULL_TEXTS = sizeof(full_texts) / sizeof(full_texts[0]) };

START_TEST(reads_the_times)
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

START_TEST(reads_the_case)
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

START_TEST(reads_nodes)
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

START_TEST(reads_queues)
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
    ck_assert_int_eq(q[1].within, GANG_PREEMPT_NEVER);
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

START_TEST(reads_quotas_by_part_weight_and_partition)
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

START_TEST(reads_how_queues_behave)
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
    ck_assert_int_eq(q->user_limit_percent, 25);
    ck_assert_int_eq(q->user_limit_factor_milli, 1500);
    ck_assert_uint_eq(q->user_count, 2);
    ck_assert_str_eq(q->users[0].user, "ann");
    ck_assert_int_eq(q->users[0].weight, GANG_WHOLE / 2);
    ck_assert_str_eq(q->submit_acl, "ann,bob staff");
    ck_assert_str_eq(q->admin_acl, " ");
    ck_assert_int_eq(q->grace_ns, INT64_C(30000000000));
    ck_assert_int_eq(q->min_runtime_ns, 0);
    ck_assert_int_eq(q->stale_ns, 1000000001);
    ck_assert_int_eq(q->max_children, 9);
    ck_assert_int_eq(q->child_idle_ns, INT64_C(3600500000000));
    ck_assert_int_eq(q->backfill, GANG_BACKFILL_EASY);
    ck_assert_int_eq(q->plan_depth, 4);
    ck_assert_int_eq(q->backfill_order, GANG_BACKFILL_ORDER_SHORTEST);
    ck_assert_int_eq(q->overrun, GANG_OVERRUN_EXTEND);
    ck_assert_int_eq(q->extend_ns, INT64_C(2500000000));
    ck_assert_int_eq(q->max_bypasses, 7);
    ck_assert_int_eq(q->max_wait_ns, INT64_C(8000000000));
    ck_assert_int_eq(q->quantum_ns, 500000000);
    ck_assert_int_eq(q->quantum_rows, 3);
    ck_assert_int_eq(q->quantum_gpus, 1);
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

START_TEST(reads_how_jobs_come_to_queues)
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

START_TEST(reads_the_life_of_jobs)
{
    gang_scenarios *scenarios = read_good(scheduling);
    const struct gang_job_spec *j = get(scenarios, 0).jobs;
    ck_assert_int_eq(j[3].preemptible, GANG_SEMI_PREEMPTIBLE);
    ck_assert_str_eq(j[3].user, "ann");
    ck_assert_uint_eq(j[3].user_group_count, 2);
    ck_assert_str_eq(j[3].user_groups[1], "ml");
    ck_assert_int_eq(j[3].time_limit_ns, INT64_C(3600250000000));
    ck_assert_int_eq(j[3].hold, 1);
    ck_assert_int_eq(j[3].loss, GANG_LOSS_REFILL);
    ck_assert_int_eq(j[3].max_restarts, 3);
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

START_TEST(reads_what_waits_for_what)
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

START_TEST(reads_jobs)
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

START_TEST(reads_demands)
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

/* ---- old keys ---- */

static const char with_old_keys[] =
    "{\"levels\":[\"rack\"],\"nodes\":[{\"name\":\"n\",\"gpus\":2,\"near\":[\"04\",\"40\"],"
    "\"links\":[{\"a\":0,\"b\":1,\"kind\":\"xgmi\"}]},{\"name\":\"m\",\"devices\":[{\"parent\":"
    "\"p\","
    "\"slice\":3}]}],\"queues\":[{\"name\":\"q\",\"turn\":\"utilization\",\"preempt\":\"cancel\","
    "\"fixed\":true,\"max_overtakes\":7,\"slice_s\":5,\"slice_rows\":2,\"slice_gpus\":true,"
    "\"limit\":{\"gpu\":{\"part\":0.5}},\"child\":{\"turn\":\"utilization\"}},{\"name\":\"r\","
    "\"fixed\":true}],\"reservations\":[{\"name\":\"v\",\"prefer\":\"latest\",\"stages\":["
    "{\"gang\":1,\"tasks\":[{}]}]}],\"jobs\":[{\"name\":\"j\",\"queue\":\"r\",\"scarce\":"
    "\"strict\","
    "\"peers\":[{\"key\":\"a\",\"near\":true,\"wish\":true}],\"tasks\":[{\"count\":4,\"slice\":2,"
    "\"slice_same\":\"rack\",\"slice_prefer\":\"node\",\"spread\":\"rack\",\"spread_wish\":true,"
    "\"most_per_node\":2,\"most_per_domain\":3,\"most_level\":\"rack\"}]}]}";

static const char with_new_keys[] =
    "{\"levels\":[\"rack\"],\"nodes\":[{\"name\":\"n\",\"gpus\":2,\"gpu_locality\":[\"04\",\"40\"],"
    "\"links\":[{\"a\":0,\"b\":1,\"type\":\"xgmi\"}]},{\"name\":\"m\",\"devices\":[{\"parent\":"
    "\"p\",\"mig_index\":3}]}],"
    "\"queues\":[{\"name\":\"q\",\"child_order\":\"utilization\",\"preempt_mode\":\"cancel\","
    "\"no_preemption\":true,\"max_bypasses\":7,\"quantum_s\":5,\"quantum_rows\":2,"
    "\"quantum_gpus\":true,\"limit\":{\"gpu\":{\"fraction\":0.5}},\"child\":{\"child_order\":"
    "\"utilization\"}},{\"name\":\"r\",\"no_preemption\":true}],"
    "\"reservations\":[{\"name\":\"v\",\"objective\":\"latest\",\"stages\":[{\"gang_size\":1,"
    "\"tasks\":[{}]}]}],"
    "\"jobs\":[{\"name\":\"j\",\"queue\":\"r\",\"gpu_nodes\":\"exclude\",\"affinity\":[{\"key\":"
    "\"a\",\"colocate\":true,\"soft\":true}],\"tasks\":[{\"count\":4,\"subgroup_size\":2,"
    "\"subgroup_same\":\"rack\",\"subgroup_prefer\":\"node\",\"spread\":\"rack\",\"spread_soft\":"
    "true,\"max_per_node\":2,\"max_per_domain\":3,\"domain_level\":\"rack\"}]}]}";

START_TEST(old_keys_are_read_with_a_warning_each)
{
    gang_scenarios *old = read_good(with_old_keys), *new = read_good(with_new_keys);
    struct gang_scenario a = get(old, 0), b = get(new, 0);
    struct gang__scenario_path where = {""};
    ck_assert_msg(gang__scenario_equal(&a, &b, &where), "%s", where.path);
    size_t warnings = 0;
    while (gang_scenarios_warning(old, warnings))
        warnings++;
    ck_assert_uint_eq(warnings, 24);
    ck_assert_str_eq(gang_scenarios_warning(old, 0), "nodes[0]: 'near' is now 'gpu_locality'");
    ck_assert_ptr_null(gang_scenarios_warning(new, 0));
    ck_assert_ptr_null(gang_scenarios_warning(NULL, 0));
    gang_scenarios_free(old);
    gang_scenarios_free(new);
}
END_TEST

START_TEST(an_old_key_beside_the_new_one_is_refused)
{
    const char text[] = "{\"queues\":[{\"name\":\"q\",\"fixed\":true,\"no_preemption\":true}]}";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    ck_assert_int_eq(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "queues[0].fixed");
}
END_TEST

START_TEST(a_label_expression_is_refused_with_its_column)
{
    static const char text[] = TASK("\"where\":\"a = 1 or (b\"");
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    ck_assert_int_eq(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EPARSE);
    ck_assert_str_eq(error.path, "jobs[0].tasks[0].where");
    ck_assert_str_eq(error.text, "column 12: expected ')', 'and' or 'or'");
    ck_assert_int_eq(error.column, 12);
    ck_assert_int_eq(error.line, 0);
}
END_TEST

/* A level of the case hides a built-in one, and may then be of tasks without GPUs. */
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

START_TEST(what_is_not_given_has_a_default)
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

/* ---- writing ---- */

struct text {
    char *bytes;
    size_t length;
    size_t stop_after; /* refuse after so many bytes; 0: never */
};

static int keep(const char *bytes, size_t length, void *user)
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

/* Write, read again, compare, write again, compare. */
static char *round_trip(const struct gang_scenario *c, int32_t indent)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__scenario_path where = {""};
    struct text text = {NULL, 0, 0};
    struct text again = {NULL, 0, 0};
    gang_result result = gang_scenario_write(c, indent, keep, &text, &error);
    ck_assert_msg(result == GANG_OK, "%s: %s: %s", c->id, error.path, error.text);
    gang_scenarios *scenarios = read_good(text.bytes);
    struct gang_scenario copy = get(scenarios, 0);
    ck_assert_msg(gang__scenario_equal(c, &copy, &where), "%s: %s", c->id, where.path);
    ck_assert_int_eq(gang_scenario_write(&copy, indent, keep, &again, &error), GANG_OK);
    ck_assert_str_eq(text.bytes, again.bytes);
    gang_scenarios_free(scenarios);
    free(again.bytes);
    return text.bytes;
}

START_TEST(everything_is_written_and_read_again)
{
    const char *text = full_texts[_i];
    gang_scenarios *scenarios = read_good(text);
    struct gang_scenario c = get(scenarios, 0);
    free(round_trip(&c, 0));
    free(round_trip(&c, 2));
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(the_plain_form_is_used_where_it_is_enough)
{
    static const char text[] =
        "{\"id\":\"x\",\"nodes\":[{\"name\":\"n\",\"cpus\":2.5,\"mem_mib\":4,\"gpus\":2,"
        "\"gpu_mem_mib\":100,\"max_tasks\":7,\"labels\":{\"a\":\"b\"},\"topology\":{},"
        "\"unschedulable\":true}],\"queues\":[{\"name\":\"q\",\"parent\":null,"
        "\"guaranteed\":{\"gpu\":-1,\"cpu\":1.5,\"mem_mib\":7},\"limit\":null,\"weight\":1}],"
        "\"jobs\":[{\"name\":\"j\",\"queue\":\"q\",\"priority\":0,\"preemptible\":true,"
        "\"submit\":0,\"min\":1,\"tasks\":[{\"count\":1,\"cpu\":0.3,\"mem_mib\":0,\"gpu\":0.6,"
        "\"selector\":{\"a\":\"b\",\"node\":[\"n\",\"m\"]},\"group\":\"g\",\"protected\":true}],"
        "\"groups\":[{\"name\":\"g\",\"parent\":null,\"min\":1}],\"state\":\"running\","
        "\"running_on\":[\"n\"],\"running_gpu\":[[\"a\"]]}],\"rounds\":2,"
        "\"expect\":{\"jobs\":{\"j\":{\"gpus\":0.6}}}}";
    gang_scenarios *scenarios = read_good(text);
    struct gang_scenario c = get(scenarios, 0);
    char *written = round_trip(&c, 0);
    json_t *a = json_loads(text, 0, NULL);
    json_t *b = json_loads(written, 0, NULL);
    ck_assert_msg(json_equal(a, b), "%s", written);
    ck_assert_ptr_nonnull(strstr(written, "\"gpu\": 0.6"));
    json_decref(a);
    json_decref(b);
    free(written);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(sets_without_names_go_by_index)
{
    struct gang_group_set_spec sets[] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT,
                                         GANG_GROUP_SET_SPEC_INIT};
    struct gang_group_spec groups[] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_job_spec job = {
        .size = sizeof(job), .name = "j", .preemptible = 1, .request = GANG_REQUEST_SPEC_INIT};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    sets[1].parent = 0;
    sets[2].name = "named";
    sets[2].parent = 1;
    sets[2].min = 1;
    groups[0].group_set = 1;
    groups[1].group_set = 2;
    groups[1].min = 0;
    job.request.groups = groups;
    job.request.group_count = 2;
    job.request.group_sets = sets;
    job.request.group_set_count = 3;
    c.jobs = &job;
    c.job_count = 1;
    free(round_trip(&c, 0));
}
END_TEST

/* The kind "tasks" that is not quite what `max_tasks` gives is written as a kind. */
START_TEST(a_kind_called_tasks_keeps_its_meaning)
{
    static const char *const texts[] = {
        "{\"kinds\":[{\"name\":\"tasks\"}],\"nodes\":[{\"name\":\"n\",\"amounts\":{\"tasks\":3}}]}",
        "{\"kinds\":[{\"name\":\"tasks\",\"unit\":\"tasks\"}],\"nodes\":[{\"name\":\"n\","
        "\"amounts\":{\"tasks\":3}}],\"jobs\":[{\"name\":\"j\",\"tasks\":[{\"amounts\":"
        "{\"tasks\":2}}]}]}",
        "{\"kinds\":[{\"name\":\"tasks\",\"unit\":\"tasks\"}],\"nodes\":[{\"name\":\"n\"}]}",
        "{\"nodes\":[{\"name\":\"n\",\"max_tasks\":1099511627775}]}",
        "{\"nodes\":[{\"name\":\"n\",\"max_tasks\":0},{\"name\":\"m\"}],\"jobs\":[{\"name\":\"j\","
        "\"tasks\":[{},{\"count\":2}]}]}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        gang_scenarios *scenarios = read_good(texts[i]);
        struct gang_scenario c = get(scenarios, 0);
        char *written = round_trip(&c, 0);
        ck_assert(!strstr(written, "max_tasks") == (i != 4));
        free(written);
        gang_scenarios_free(scenarios);
    }
}
END_TEST

/* A host with newer headers than the library has longer structs. */
START_TEST(longer_structs_are_written)
{
    struct {
        struct gang_node_spec node;
        int64_t more;
    } nodes[2] = {{GANG_NODE_SPEC_INIT, 0}, {GANG_NODE_SPEC_INIT, 0}};
    struct {
        struct gang_gpu_spec gpu;
        int64_t more;
    } gpus[2] = {{{NULL, NULL, NULL, 5, -1, 0, NULL, 0, 0}, 0},
                 {{"m", NULL, NULL, 6, -1, 0, NULL, 0, 0}, 0}};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    nodes[0].node.name = "a";
    nodes[1].node.name = "b";
    nodes[0].node.size = nodes[1].node.size = sizeof(nodes[0]);
    nodes[1].node.gpus = &gpus[0].gpu;
    nodes[1].node.gpu_count = 2;
    nodes[1].node.gpu_size = sizeof(gpus[0]);
    c.nodes = &nodes[0].node;
    c.node_count = 2;
    free(round_trip(&c, 0));
    gpus[1].more = 1;
    struct text text = {NULL, 0, 0};
    gang_result result = gang_scenario_write(&c, 0, keep, &text, &error);
    ck_assert_int_ne(result, GANG_OK);
    ck_assert_str_eq(error.path, "nodes[1]");
    ck_assert_ptr_null(text.bytes);
}
END_TEST

START_TEST(what_the_format_cannot_say_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_scenario good = GANG_SCENARIO_INIT;
    struct gang_scenario c;
    struct text text = {NULL, 0, 0};
    static const char *const level = "rack";
    good.nodes = &node;
    good.node_count = 1;
    c = good;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "nodes[0]"); /* no name */
    node.name = "\xff";
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    node.name = "n";
    node.state = GANG_NODE_REMOVED;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    node.state = GANG_NODE_UP;
    node.cpu_milli = -1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "nodes[0].cpus");
    node.cpu_milli = 0;
    node.gpu_count = 1; /* without an array */
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    struct gang_gpu_spec gpu = GANG_GPU_SPEC_INIT;
    node.gpus = &gpu;
    gpu.state = 2;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    gpu.state = GANG_GPU_OK;
    gpu.mig_index = 1; /* of nothing */
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    node.gpu_count = 0;
    node.profile_count = 1; /* without an array */
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    node.profile_count = 0;
    node.reserved0 = 1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    node.reserved0 = 0;
    c.nodes = NULL;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    c = good;
    c.expect = "{\"jobs\":";
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "expect");
    c.expect = "{\"jobs\":{\"j\":{}}}";
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "expect.jobs.j");
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = {.size = sizeof(job), .name = "j", .preemptible = 1};
    job.request = (struct gang_request_spec)GANG_REQUEST_SPEC_INIT;
    job.request.groups = &group;
    job.request.group_count = 1;
    c.jobs = &job;
    c.job_count = 1;
    c.expect = NULL;
    job.request.policy = GANG_POLICY_HOST;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "jobs[0]");
    job.request.policy = GANG_POLICY_DEFAULT;
    job.request.score_user = &job;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    job.request.score_user = NULL;
    group.where = "a =";
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, "jobs[0].tasks[0].where");
    group.where = NULL;
    group.max_skew = -1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    group.max_skew = 0;
    job.request.affinity_count = 1; /* without an array */
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    struct gang_partition_spec partition = {sizeof(partition), "p", 3, 0};
    c = good;
    c.partitions = &partition;
    c.partition_count = 1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    c = good;
    c.policy = GANG_POLICY_HOST;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    c = good;
    c.rounds = -1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    c = good;
    c.levels = &level;
    c.level_count = 1;
    c.needs = NULL;
    c.need_count = 1;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    c = good;
    c.size = 4;
    ck_assert_int_eq(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenario_write(NULL, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenario_write(&good, 0, NULL, &text, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenario_write(&good, -1, keep, &text, &error), GANG_EINVAL);
    ck_assert_int_eq(gang_scenario_write(&good, 32, keep, &text, &error), GANG_EINVAL);
    ck_assert_ptr_null(text.bytes);
    text.stop_after = 10;
    ck_assert_int_eq(gang_scenario_write(&good, 0, keep, &text, &error), GANG_EIO);
    free(text.bytes);
}
END_TEST

static void is_refused(const struct gang_scenario *c, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct text text = {NULL, 0, 0};
    ck_assert_int_eq(gang_scenario_write(c, 0, keep, &text, &error), GANG_EINVAL);
    ck_assert_str_eq(error.path, path);
    ck_assert_ptr_null(text.bytes);
}

START_TEST(what_files_cannot_say_of_queues_is_refused)
{
    struct gang_queue_spec queue = GANG_QUEUE_SPEC_INIT;
    struct gang_quota quota = {"gpu", 0, NULL, 0, 0};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    c.queues = &queue;
    c.queue_count = 1;
    queue.name = "q";
    queue.order = 6;
    is_refused(&c, "queues[0].order");
    queue.order = -1;
    is_refused(&c, "queues[0].order");
    queue.order = 0;
    queue.no_preemption = 2;
    is_refused(&c, "queues[0].no_preemption");
    queue.no_preemption = 0;
    queue.grace_ns = -2;
    is_refused(&c, "queues[0].grace_s");
    queue.grace_ns = -1;
    queue.policy = GANG_POLICY_HOST;
    is_refused(&c, "queues[0].policy");
    queue.policy = 0;
    queue.submit_acl = "a\n";
    is_refused(&c, "queues[0].submit_acl");
    queue.submit_acl = NULL;
    queue.user_count = 1; /* without an array */
    is_refused(&c, "queues[0]");
    queue.user_count = 0;
    queue.reserved0 = 1;
    is_refused(&c, "queues[0]");
    queue.reserved0 = 0;
    queue.guaranteed = &quota;
    queue.guaranteed_count = 1;
    quota = (struct gang_quota){"gpu", 1, NULL, 5, 0}; /* both an amount and a part */
    is_refused(&c, "queues[0]");
    quota = (struct gang_quota){"gpu", 0, NULL, 5, 5};
    is_refused(&c, "queues[0].guaranteed.gpu.weight");
    quota = (struct gang_quota){"gpu", 0, "", 0, 0};
    is_refused(&c, "queues[0].guaranteed[\"gpu@\"]");
    quota = (struct gang_quota){"gpu", 0, NULL, 0, 0};
    queue.child = &queue; /* without end */
    is_refused(&c, "queues[0]");
    queue.child = NULL;
    free(round_trip(&c, 0));
}
END_TEST

START_TEST(what_files_cannot_say_of_jobs_is_refused)
{
    struct gang_group_spec groups[2] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_group_after order[2] = {{1, 0, GANG_AFTER_END, 0}, {0, 1, GANG_AFTER_END, 0}};
    struct gang_job_after after = {7, GANG_AFTER_END, 0};
    struct gang_scenario_after wait = {sizeof(wait), 0, 1, GANG_AFTER_END, 0};
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_scenario c = GANG_SCENARIO_INIT;
    int32_t roles[2] = {0, 5};
    c.jobs = &job;
    c.job_count = 1;
    job.name = "j";
    job.request.groups = groups;
    job.request.group_count = 2;
    is_refused(&c, "jobs[0].submit"); /* a file has the age of each job */
    job.submit = 0;
    free(round_trip(&c, 0));
    job.cookie = 1;
    is_refused(&c, "jobs[0]");
    job.cookie = 0;
    job.after = &after;
    job.after_count = 1;
    is_refused(&c, "jobs[0]");
    job.after_count = 0;
    job.roles = roles;
    is_refused(&c, "jobs[0]");
    roles[1] = GANG_ROLE_CHIEF;
    job.preemptible = 3;
    is_refused(&c, "jobs[0]");
    job.preemptible = GANG_SEMI_PREEMPTIBLE;
    job.group_after = order;
    job.group_after_count = 1;
    free(round_trip(&c, 0));
    job.group_after_count = 2; /* not in the order of the groups */
    is_refused(&c, "jobs[0]");
    job.group_after_count = 0;
    c.afters = &wait;
    c.after_count = 1;
    is_refused(&c, "jobs[0]"); /* there is no job 1 */
    wait.after = 0;
    is_refused(&c, "jobs[0].after[0]");
    c.after_count = 0;
    c.half_life_ns = -1;
    is_refused(&c, "half_life_s");
}
END_TEST

START_TEST(times_are_as_fine_as_they_can_be_given_back)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"0.000000001", 1},
                 {"0.0000000001", 0},
                 {"86400.123456789", INT64_C(86400123456789)},
                 {"1125899.906842623", INT64_C(1125899906842623)},
                 {"1125899.906842624", INT64_C(1125899906843000)},
                 {"31536000.000001", INT64_C(31536000000001000)},
                 {"4611686018", INT64_C(4611686018000000000)}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "{\"half_life_s\":%s}", cases[i].text);
        gang_scenarios *scenarios = read_good(text);
        struct gang_scenario c = get(scenarios, 0);
        ck_assert_int_eq(c.half_life_ns, cases[i].ns);
        free(round_trip(&c, 0));
        gang_scenarios_free(scenarios);
    }
}
END_TEST

/* ---- the shared cases ---- */

static const char *const shared_files[] = {
    "scenarios/hived.json",    "scenarios/issue_scenarios.json",   "scenarios/kai_scheduler.json",
    "scenarios/kueue.json",    "scenarios/kueue_tas.json",         "scenarios/volcano.json",
    "scenarios/yunikorn.json", "scenarios/scheduler_plugins.json",
};

START_TEST(shared_cases_are_written_and_read_again)
{
    char path[4096];
    size_t total = 0;
    for (size_t i = 0; i < sizeof(shared_files) / sizeof(shared_files[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        if (!gang_shared_path(path, sizeof(path), shared_files[i])) {
            fprintf(stderr, "skip: %s is not there\n", path);
            return;
        }
        gang_result result = gang_scenarios_read_file(path, &scenarios, &error);
        ck_assert_msg(result == GANG_OK, "%s: %s: %s", path, error.path, error.text);
        for (size_t k = 0; k < gang_scenarios_count(scenarios); k++) {
            struct gang_scenario c = get(scenarios, k);
            free(round_trip(&c, 0));
        }
        total += gang_scenarios_count(scenarios);
        gang_scenarios_free(scenarios);
    }
    ck_assert_uint_ge(total, 106);
}
END_TEST

/* ---- hostile input ---- */

START_TEST(no_truncation_is_accepted)
{
    const char *text = full_texts[_i];
    size_t length = strlen(text);
    for (size_t n = 0; n < length; n += stride(7)) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        char *exact = malloc(n ? n : 1); /* so that reading past the end is seen */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, text, n);
        ck_assert_int_eq(gang_scenarios_read(exact, n, &scenarios, &error), GANG_EPARSE);
        ck_assert_int_gt(error.column, 0);
        free(exact);
    }
}
END_TEST

START_TEST(any_byte_may_be_wrong)
{
    const char *source = full_texts[_i];
    size_t length = strlen(source);
    static const char bytes[] = {'\0', '"', '{', '}', '[', ']', ',', '-', '9', '\x80', '\\', 'x'};
    char *text = strdup(source);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < length; i += stride(7)) {
        gang_scenarios *scenarios;
        text[i] = bytes[i % sizeof(bytes)];
        gang_result result = gang_scenarios_read(text, length, &scenarios, NULL);
        ck_assert(!scenarios == (result != GANG_OK));
        gang_scenarios_free(scenarios);
        text[i] = source[i];
    }
    free(text);
}
END_TEST

/* ---- files ---- */

START_TEST(files_are_read_or_refused)
{
    char path[] = "/tmp/test_scenario_XXXXXX";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(gang_scenarios_read_file(path, &scenarios, &error), GANG_EPARSE);
    ck_assert_int_eq(write(file, "[{},{}]", 7), 7);
    ck_assert_int_eq(gang_scenarios_read_file(path, &scenarios, &error), GANG_OK);
    ck_assert_uint_eq(gang_scenarios_count(scenarios), 2);
    gang_scenarios_free(scenarios);
    ck_assert_int_eq(ftruncate(file, (off_t)2 << 30), 0);
    ck_assert_int_eq(gang_scenarios_read_file(path, &scenarios, &error), GANG_ELIMIT);
    ck_assert_ptr_null(scenarios);
    close(file);
    unlink(path);
    ck_assert_int_eq(gang_scenarios_read_file(path, &scenarios, &error), GANG_EIO);
    ck_assert_int_eq(gang_scenarios_read_file("/", &scenarios, &error), GANG_EIO);
}
END_TEST

/* ---- out of memory ---- */

START_TEST(reading_reports_every_failing_allocation)
{
    const char *text = full_texts[_i];
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fail_mem fail;
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        fail_mem_init(&fail, n);
        gang_result result =
            gang__scenarios_read_mem(&fail.mem, text, strlen(text), &scenarios, &error);
        done = result == GANG_OK;
        ck_assert_msg(done || (result == GANG_ENOMEM && !scenarios && error.code == GANG_ENOMEM),
                      "allocation %ld: %d %s", n, result, error.text);
        gang_scenarios_free(scenarios);
        ck_assert_int_eq(fail.live, 0);
    }
}
END_TEST

START_TEST(writing_reports_every_failing_allocation)
{
    const char *source = full_texts[_i];
    gang_scenarios *scenarios = read_good(source);
    struct gang_scenario c = get(scenarios, 0);
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fail_mem fail;
        struct gang_error error = GANG_ERROR_INIT;
        struct text text = {NULL, 0, 0};
        fail_mem_init(&fail, n);
        gang_result result = gang__scenario_write_mem(&fail.mem, &c, 0, keep, &text, &error);
        done = result == GANG_OK;
        ck_assert_msg(done || (result == GANG_ENOMEM && error.code == GANG_ENOMEM),
                      "allocation %ld: %d %s", n, result, error.text);
        free(text.bytes);
        ck_assert_int_eq(fail.live, 0);
    }
    gang_scenarios_free(scenarios);
}
END_TEST

static long jansson_calls;
static long jansson_fail_at;

static void *jansson_alloc(size_t bytes)
{
    return ++jansson_calls == jansson_fail_at ? NULL : malloc(bytes);
}

START_TEST(a_failing_allocation_of_jansson_is_reported)
{
    const char *source = full_texts[_i];
    gang_scenarios *scenarios = read_good(source);
    struct gang_scenario c = get(scenarios, 0);
    json_set_alloc_funcs(jansson_alloc, free);
    bool read_done = false;
    bool write_done = false;
    for (long n = 1; !read_done || !write_done; n++) {
        gang_scenarios *copy;
        struct text text = {NULL, 0, 0};
        jansson_calls = 0;
        jansson_fail_at = n;
        gang_result result = gang_scenarios_read(source, strlen(source), &copy, NULL);
        read_done = result == GANG_OK;
        ck_assert_msg(read_done || (result == GANG_ENOMEM && !copy), "read, allocation %ld", n);
        gang_scenarios_free(copy);
        jansson_calls = 0;
        result = gang_scenario_write(&c, 0, keep, &text, NULL);
        write_done = result == GANG_OK;
        ck_assert_msg(write_done || result == GANG_ENOMEM, "write, allocation %ld: %d", n, result);
        free(text.bytes);
    }
    json_set_alloc_funcs(malloc, free);
    gang_scenarios_free(scenarios);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("scenario");
    tcase_set_timeout(tests, 120);
    int bad_count = (int)(sizeof(bad_texts) / sizeof(bad_texts[0]));
    tcase_add_loop_test(tests, refuses_and_names_the_place, 0, bad_count);
    tcase_add_test(tests, refuses_more_than_the_limits);
    tcase_add_test(tests, refuses_a_long_name);
    tcase_add_test(tests, refuses_deep_nesting);
    tcase_add_test(tests, refuses_a_text_beyond_the_limit_unread);
    tcase_add_test(tests, syntax_errors_have_line_and_column);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, reads_the_times);
    tcase_add_test(tests, reads_the_case);
    tcase_add_test(tests, reads_nodes);
    tcase_add_test(tests, reads_queues);
    tcase_add_test(tests, reads_quotas_by_part_weight_and_partition);
    tcase_add_test(tests, reads_how_queues_behave);
    tcase_add_test(tests, reads_how_jobs_come_to_queues);
    tcase_add_test(tests, reads_jobs);
    tcase_add_test(tests, reads_the_life_of_jobs);
    tcase_add_test(tests, reads_what_waits_for_what);
    tcase_add_test(tests, reads_demands);
    tcase_add_test(tests, old_keys_are_read_with_a_warning_each);
    tcase_add_test(tests, an_old_key_beside_the_new_one_is_refused);
    tcase_add_test(tests, a_label_expression_is_refused_with_its_column);
    tcase_add_test(tests, a_level_of_the_case_may_be_called_like_a_built_in_one);
    tcase_add_test(tests, what_is_not_given_has_a_default);
    tcase_add_test(tests, the_minimum_of_tasks_follows_the_groups_around_them);
    tcase_add_loop_test(tests, everything_is_written_and_read_again, 0, FULL_TEXTS);
    tcase_add_test(tests, the_plain_form_is_used_where_it_is_enough);
    tcase_add_test(tests, sets_without_names_go_by_index);
    tcase_add_test(tests, a_kind_called_tasks_keeps_its_meaning);
    tcase_add_test(tests, longer_structs_are_written);
    tcase_add_test(tests, what_the_format_cannot_say_is_refused);
    tcase_add_test(tests, what_files_cannot_say_of_queues_is_refused);
    tcase_add_test(tests, what_files_cannot_say_of_jobs_is_refused);
    tcase_add_test(tests, times_are_as_fine_as_they_can_be_given_back);
    tcase_add_test(tests, shared_cases_are_written_and_read_again);
    tcase_add_loop_test(tests, no_truncation_is_accepted, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, any_byte_may_be_wrong, 0, FULL_TEXTS);
    tcase_add_test(tests, files_are_read_or_refused);
    tcase_add_loop_test(tests, reading_reports_every_failing_allocation, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, writing_reports_every_failing_allocation, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, a_failing_allocation_of_jansson_is_reported, 0, FULL_TEXTS);
    Suite *suite = suite_create("scenario");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
