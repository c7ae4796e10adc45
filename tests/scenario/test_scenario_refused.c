/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts the reader of scenarios refuses, with which code, and at which path. */
#include <stdlib.h>

#include "scenario/scenario_support.h"

#include <gangsched/sched.h>

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
    {QUEUE("\"max_blocked_s\":-2"), GANG_ERANGE, "queues[0].max_blocked_s"},
    {QUEUE("\"quantum_s\":-2"), GANG_ERANGE, "queues[0].quantum_s"},
    {QUEUE("\"quantum_s\":\"short\""), GANG_EINVAL, "queues[0].quantum_s"},
    {QUEUE("\"quantum_rows\":65536"), GANG_ERANGE, "queues[0].quantum_rows"},
    {QUEUE("\"quantum_gpus\":2"), GANG_EINVAL, "queues[0].quantum_gpus"},
    {QUEUE("\"across\":\"higher\""), GANG_EINVAL, "queues[0].across"},
    {QUEUE("\"across_max_priority\":0.5"), GANG_EINVAL, "queues[0].across_max_priority"},
    {QUEUE("\"preempt_class\":1"), GANG_EINVAL, "queues[0].preempt_class"},
    {QUEUE("\"preempts\":[\"a\"]"), GANG_EINVAL, "queues[0].preempts"},
    {QUEUE("\"priority_weight_age\":4294967296"), GANG_ERANGE, "queues[0].priority_weight_age"},
    {QUEUE("\"priority_weight_job\":-1"), GANG_ERANGE, "queues[0].priority_weight_job"},
    {QUEUE("\"priority_factor\":1.5"), GANG_ERANGE, "queues[0].priority_factor"},
    {QUEUE("\"priority_period_s\":-1"), GANG_ERANGE, "queues[0].priority_period_s"},
    {QUEUE("\"priority_favor_small\":1"), GANG_EINVAL, "queues[0].priority_favor_small"},
    {QUEUE("\"budgets\":[{\"amount\":1}]"), GANG_EINVAL, "queues[0].budgets[0].kind"},
    {QUEUE("\"budgets\":[{\"kind\":\"coal\",\"amount\":1}]"), GANG_ENOENT,
     "queues[0].budgets[0].kind"},
    {QUEUE("\"budgets\":[{\"kind\":\"gpu\",\"amount\":-1}]"), GANG_ERANGE,
     "queues[0].budgets[0].amount"},
    {QUEUE("\"budgets\":[{\"kind\":\"gpu\",\"amount\":1,\"exhausted\":\"no\"}]"), GANG_EINVAL,
     "queues[0].budgets[0].exhausted"},
    {QUEUE("\"partitions\":[1]"), GANG_EINVAL, "queues[0].partitions[0]"},
    {QUEUE("\"partition_borrow\":true"), GANG_EINVAL, "queues[0].partition_borrow"},
    {QUEUE("\"surplus\":\"fairly\""), GANG_EINVAL, "queues[0].surplus"},
    {QUEUE("\"no_preemption\":1"), GANG_EINVAL, "queues[0].no_preemption"},
    {JOB("\"announced\":1"), GANG_EINVAL, "jobs[0].announced"},
    {JOB("\"start_full\":1"), GANG_EINVAL, "jobs[0].start_full"},
    {JOB("\"arrivals\":[]"), GANG_EINVAL, "jobs[0].arrivals"},
    {JOB("\"announced\":true,\"arrivals\":1"), GANG_EINVAL, "jobs[0].arrivals"},
    {JOB("\"announced\":true,\"arrivals\":[{}]"), GANG_EINVAL, "jobs[0].arrivals[0].count"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":0}]"), GANG_EINVAL,
     "jobs[0].arrivals[0].count"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":16777217}]"), GANG_ERANGE,
     "jobs[0].arrivals[0].count"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":1,\"complete\":true}]"), GANG_EINVAL,
     "jobs[0].arrivals[0].count"},
    {JOB("\"announced\":true,\"arrivals\":[{\"group\":0,\"complete\":true}]"), GANG_EINVAL,
     "jobs[0].arrivals[0].group"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":1,\"group\":9}]"), GANG_ERANGE,
     "jobs[0].arrivals[0].group"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":1,\"group\":\"x\"}]"), GANG_ENOENT,
     "jobs[0].arrivals[0].group"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":1,\"at_s\":-1}]"), GANG_ERANGE,
     "jobs[0].arrivals[0].at_s"},
    {JOB("\"announced\":true,\"arrivals\":[{\"count\":1,\"at_s\":2},{\"count\":1}]"), GANG_EINVAL,
     "jobs[0].arrivals[1]"},
    {QUEUE("\"nonpreemptible\":\"share\""), GANG_EINVAL, "queues[0].nonpreemptible"},
    {QUEUE("\"max_running\":-1"), GANG_ERANGE, "queues[0].max_running"},
    {QUEUE("\"max_pending\":0.5"), GANG_EINVAL, "queues[0].max_pending"},
    {QUEUE("\"max_running_per_user\":\"1\""), GANG_EINVAL, "queues[0].max_running_per_user"},
    {QUEUE("\"default_time_limit_s\":-0.1"), GANG_ERANGE, "queues[0].default_time_limit_s"},
    {QUEUE("\"max_time_limit_s\":1e10"), GANG_ERANGE, "queues[0].max_time_limit_s"},
    {QUEUE("\"max_time_limit_s\":\"1h\""), GANG_EINVAL, "queues[0].max_time_limit_s"},
    {QUEUE("\"user_limit\":1.01"), GANG_ERANGE, "queues[0].user_limit"},
    {QUEUE("\"user_limit_factor\":-1"), GANG_ERANGE, "queues[0].user_limit_factor"},
    {QUEUE("\"users\":[]"), GANG_EINVAL, "queues[0].users"},
    {QUEUE("\"users\":{\"a\":0}"), GANG_ERANGE, "queues[0].users.a"},
    {QUEUE("\"users\":{\"\":1}"), GANG_EINVAL, "queues[0].users[\"\"]"},
    {QUEUE("\"submit_acl\":null"), GANG_EINVAL, "queues[0].submit_acl"},
    {QUEUE("\"admin_acl\":\"a\\n\""), GANG_EINVAL, "queues[0].admin_acl"},
    {QUEUE("\"grace_s\":-1"), GANG_ERANGE, "queues[0].grace_s"},
    {QUEUE("\"min_runtime_s\":true"), GANG_EINVAL, "queues[0].min_runtime_s"},
    {QUEUE("\"stale_s\":null"), GANG_EINVAL, "queues[0].stale_s"},
    {QUEUE("\"fence_s\":-2"), GANG_ERANGE, "queues[0].fence_s"},
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
    {JOB("\"parallelism\":-1"), GANG_ERANGE, "jobs[0].parallelism"},
    {JOB("\"array_max_running\":-1"), GANG_ERANGE, "jobs[0].array_max_running"},
    {JOB("\"partitions\":\"a\""), GANG_EINVAL, "jobs[0].partitions"},
    {JOB("\"partitions\":[\"\"]"), GANG_EINVAL, "jobs[0].partitions[0]"},
    {JOB("\"restart_delay_s\":\"\""), GANG_EINVAL, "jobs[0].restart_delay_s"},
    {JOB("\"refill_s\":-1"), GANG_ERANGE, "jobs[0].refill_s"},
    {JOB("\"start_within_s\":-1"), GANG_ERANGE, "jobs[0].start_within_s"},
    {JOB("\"prefer_wait_s\":-1"), GANG_ERANGE, "jobs[0].prefer_wait_s"},
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
    {"{\"queues\":[{\"name\":\"q\"}],\"jobs\":[{\"name\":\"j\",\"tasks\":[{}]}]}", GANG_EINVAL,
     "jobs[0].queue"},
    {JOB("\"priority\":0.5"), GANG_EINVAL, "jobs[0].priority"},
    {JOB("\"submit\":-1"), GANG_ERANGE, "jobs[0].submit"},
    {JOB("\"preemptible\":0"), GANG_EINVAL, "jobs[0].preemptible"},
    {JOB("\"stale\":null"), GANG_EINVAL, "jobs[0].stale"},
    {JOB("\"never_preempts\":\"\""), GANG_EINVAL, "jobs[0].never_preempts"},
    {JOB("\"min\":0"), GANG_ERANGE, "jobs[0].min"},
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
    {TASK("\"spread\":\"numa\""), GANG_EINVAL, "jobs[0].tasks[0].spread"},
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
    {JOB("\"groups\":[{\"count\":1}]"), GANG_EINVAL, "jobs[0].groups[0].count"},
    /* tasks */
    {TASK("\"count\":0"), GANG_ERANGE, "jobs[0].tasks[0].count"},
    {TASK("\"count\":16777217"), GANG_ERANGE, "jobs[0].tasks[0].count"},
    {JOB_TASKS("[{\"count\":16777216},{}]", ""), GANG_ERANGE, "jobs[0].tasks"},
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

START_TEST(a_wrong_text_is_refused_with_its_path)
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

/* A cluster of the case refuses the job, and no text hides its other jobs. */
START_TEST(a_job_that_a_scheduler_would_refuse_is_read)
{
    static const struct {
        const char *text, *path;
    } jobs[] = {
        {JOB("\"queue\":\"q\""), "queue"},
        {"{\"queues\":[{\"name\":\"p\"},{\"name\":\"q\",\"parent\":\"p\"}],\"jobs\":[{\"name\":"
         "\"j\",\"queue\":\"p\",\"tasks\":[{}]}]}",
         "queue"},
        {JOB("\"min\":3"), "min"},
        {JOB("\"same\":\"zone\""), "same"},
        {JOB("\"prefer\":\"zone\""), "prefer"},
        {JOB("\"affinity\":[{\"key\":\"a\",\"level\":\"row\"}]"), "affinity[0].level"},
        {JOB("\"groups\":[{\"name\":\"a\",\"min\":1}]"), "group_sets[0].min"},
        {JOB("\"groups\":[{\"name\":\"a\",\"same\":\"x\"}]"), "group_sets[0].same"},
        {TASK("\"min\":2"), "groups[0].min"},
        {TASK("\"same\":\"socket\""), "groups[0].same"},
        {TASK("\"subgroup_size\":1,\"subgroup_prefer\":\"row\""), "groups[0].subgroup_prefer"},
        {TASK("\"spread\":\"row\""), "groups[0].spread"},
    };
    struct gang_scenario c = GANG_SCENARIO_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    gang_cluster *cluster;
    gang_sched *sched;
    gang_job_id id;
    EXPECT_RESULT(gang_scenarios_read(jobs[_i].text, strlen(jobs[_i].text), &scenarios, &error),
                  GANG_OK, &error);
    MUST(gang_scenarios_get(scenarios, 0, &c));
    EXPECT_RESULT(gang_cluster_build(&c, NULL, &cluster, &error), GANG_OK, &error);
    opts.default_queue = "default";
    EXPECT_RESULT(gang_sched_new(cluster, &opts, NULL, NULL, &sched, &error), GANG_OK, &error);
    if (c.queue_count > 0)
        EXPECT_RESULT(gang_sched_set_queues(sched, c.queues, c.queue_count, &error), GANG_OK,
                      &error);
    gang_result r = gang_job_submit(sched, &c.jobs[0], &id, &error);
    ck_assert_msg(r != GANG_OK && r != GANG_ENEVER, "%s: %s", jobs[_i].text, gang_result_name(r));
    test_assert(strstr(error.path, jobs[_i].path) != NULL);
    gang_sched_free(sched);
    gang_cluster_free(cluster);
    gang_scenarios_free(scenarios);
}
END_TEST

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

START_TEST(lists_beyond_their_limits_are_refused)
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
        EXPECT_ERROR(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_ELIMIT,
                     &error, cases[i].path, NULL);
        free(text);
    }
}
END_TEST

START_TEST(a_long_name_is_refused)
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

START_TEST(deep_nesting_is_refused)
{
    char text[65 * 2 + 1];
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    EXPECT_RESULT(gang_scenarios_read(text, 130, &scenarios, &error), GANG_ELIMIT, &error);
    ck_assert_int_eq(error.line, 1);
    ck_assert_int_eq(error.column, 65);
}
END_TEST

START_TEST(a_text_beyond_the_limit_is_refused_unread)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    EXPECT_RESULT(gang_scenarios_read("", (size_t)GANG_JSON_MAX_BYTES + 1, &scenarios, &error),
                  GANG_ELIMIT, &error);
}
END_TEST

START_TEST(syntax_errors_have_line_and_column)
{
    static const char text[] = "{\n  \"nodes\": [\n    {\"name\": \"n\", \"cpus\": 1,,}\n  ]\n}";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    EXPECT_RESULT(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EPARSE, &error);
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
    EXPECT_RESULT(gang_scenarios_read(NULL, 3, &scenarios, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenarios_read("{}", 2, NULL, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenarios_read(NULL, 0, &scenarios, &error), GANG_EPARSE, &error);
    EXPECT_RESULT(gang_scenarios_read_file(NULL, &scenarios, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenarios_read_file("x", NULL, &error), GANG_EINVAL, &error);
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

START_TEST(a_label_expression_is_refused_with_its_column)
{
    static const char text[] = TASK("\"where\":\"a = 1 or (b\"");
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    EXPECT_ERROR(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EPARSE, &error,
                 "jobs[0].tasks[0].where", NULL);
    ck_assert_str_eq(error.text, "column 12: expected ')', 'and' or 'or'");
    ck_assert_int_eq(error.column, 12);
    ck_assert_int_eq(error.line, 0);
}
END_TEST

/* A level of the case hides a built-in one, and may then be of tasks without GPUs. */

int main(void)
{
    TCase *tests = tcase_create("scenario_refused");
    tcase_set_timeout(tests, 120);
    int bad_count = (int)(sizeof(bad_texts) / sizeof(bad_texts[0]));
    tcase_add_loop_test(tests, a_wrong_text_is_refused_with_its_path, 0, bad_count);
    tcase_add_loop_test(tests, a_job_that_a_scheduler_would_refuse_is_read, 0, 12);
    tcase_add_test(tests, lists_beyond_their_limits_are_refused);
    tcase_add_test(tests, a_long_name_is_refused);
    tcase_add_test(tests, deep_nesting_is_refused);
    tcase_add_test(tests, a_text_beyond_the_limit_is_refused_unread);
    tcase_add_test(tests, syntax_errors_have_line_and_column);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, a_label_expression_is_refused_with_its_column);
    Suite *suite = suite_create("scenario_refused");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
