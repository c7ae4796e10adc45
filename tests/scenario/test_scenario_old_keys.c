/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of older versions are read as the new ones, each with a warning. */
#include "scenario/scenario_support.h"

static const char with_old_keys[] =
    "{\"levels\":[\"rack\"],\"nodes\":[{\"name\":\"n\",\"gpus\":2,\"near\":[\"04\",\"40\"],"
    "\"links\":[{\"a\":0,\"b\":1,\"kind\":\"xgmi\"}]},{\"name\":\"m\",\"devices\":[{\"parent\":"
    "\"p\","
    "\"slice\":3}]}],\"queues\":[{\"name\":\"q\",\"turn\":\"utilization\",\"preempt\":\"cancel\","
    "\"fixed\":true,\"max_overtakes\":7,\"slice_s\":5,\"slice_rows\":2,\"slice_gpus\":true,"
    "\"user_limit_percent\":29,\"limit\":{\"gpu\":{\"part\":0.5}},\"child\":{\"turn\":"
    "\"utilization\"}},{\"name\":\"r\","
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
    "\"quantum_gpus\":true,\"user_limit\":0.29,\"limit\":{\"gpu\":{\"fraction\":0.5}},\"child\":{"
    "\"child_order\":"
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
    ck_assert_uint_eq(warnings, 25);
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
    EXPECT_ERROR(gang_scenarios_read(text, strlen(text), &scenarios, &error), GANG_EINVAL, &error,
                 "queues[0].fixed", NULL);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("scenario_old_keys");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, old_keys_are_read_with_a_warning_each);
    tcase_add_test(tests, an_old_key_beside_the_new_one_is_refused);
    Suite *suite = suite_create("scenario_old_keys");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
