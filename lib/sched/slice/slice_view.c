/* SPDX-License-Identifier: Apache-2.0 */
/* What other folders ask of matrices: explanations, hosts, the audit. */
#include <inttypes.h>
#include <string.h>

#include "base/wide.h"
#include "sched/slice/slice_in.h"

/* ---- explaining and reading ------------------------------------------------------------------ */

bool gang__slice_has_node(const gang_sched *s, gang_node_id node)
{
    const struct gang__matrix *m = s->slice.matrices;
    while (m && !gang__column_at(m, node))
        m = m->next;
    return m != NULL;
}

uint32_t gang__slice_row(const struct gang__gang *g)
{
    return g->sliced ? g->sliced->row + 1 : 0;
}

uint32_t gang__slice_row_turn(const gang_sched *s, const struct gang__gang *g, int64_t *until_ns)
{
    const struct gang__sliced *x = g->sliced;
    const struct gang__matrix *m = x->matrix;
    uint32_t distance = gang__row_distance(m, x->row);
    bool counted = m->until_ns != INT64_MAX;
    int64_t at = counted ? m->until_ns : s->now_ns;
    if (distance == 0 && x->refused) /* after all other rows */
        distance = m->rows;
    for (uint32_t d = counted ? 1 : 0; d < distance; d++)
        at = gang__add_sat(at, m->quantum_ns);
    *until_ns = distance == 0 ? 0 : at;
    return m->rows;
}

/* Hash how long it is until then, in full: quanta of two matrices may differ. */
static uint64_t print_until(const gang_sched *s, uint64_t print, int64_t until_ns)
{
    return gang__hash_number(print, until_ns == INT64_MAX ? 0 : (uint64_t)(until_ns - s->now_ns));
}

uint64_t gang__slice_fingerprint(const gang_sched *s, uint64_t seed)
{
    uint64_t print = gang__hash_number(GANG__HASH_SEED, seed);
    for (const struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        print = gang__hash_number(print, (uint64_t)m->active << 32 | m->rows);
        print = gang__hash_number(print, (uint64_t)m->begun << 1 | m->fresh);
        print = print_until(s, print, m->until_ns);
        for (const struct gang__sliced *x = m->first; x; x = x->next) {
            uint64_t state = (uint64_t)x->row << 32 | (uint64_t)x->killed << 8 |
                             (uint64_t)x->state << 1 | x->refused;
            print = gang__hash_number(gang__hash_number(print, x->alloc), x->uses);
            print = gang__hash_number(print, state);
            print = print_until(s, print, x->left > 0 ? x->deadline_ns : INT64_MAX);
            print = print_until(s, print, x->left > 0 ? x->next_ns : INT64_MAX);
        }
    }
    return print;
}

int64_t gang__slice_round_ns(const gang_sched *s)
{
    int64_t most = 0;
    for (const struct gang__matrix *m = s->slice.matrices; m; m = m->next)
        most = gang__max(most, gang__mul_div(gang__add_sat(m->quantum_ns, m->grace_ns),
                                             (int64_t)m->rows + 1, 1));
    return most;
}

void gang__slice_info(const gang_sched *s, const struct gang__queue_state *q,
                      struct gang_queue_info *out)
{
    const struct gang__matrix *m = gang__slice_matrix(s, q);
    out->quantum_end_ns = INT64_MAX;
    if (q->q->slicer == GANG__NO_QUEUE)
        return;
    out->quantum_ns = q->q->quantum_ns;
    out->quantum_rows = q->q->quantum_rows;
    out->rows = m ? m->rows : 0;
    out->active_row = m && m->rows ? m->active + 1 : 0;
    if (m)
        out->quantum_end_ns = m->until_ns;
}

/* ---- the audit ------------------------------------------------------------------------------- */

#define BAD(...) gang__error(error, GANG_EINVAL, "slices", __VA_ARGS__)

struct count {
    const struct gang__sliced *x;
    size_t at;
    bool same;
};

static int32_t same_use(gang_node_id node, unsigned word, uint64_t payload, int64_t task,
                        void *user)
{
    struct count *c = user;
    const struct gang__use *use = c->at < c->x->uses ? &c->x->use[c->at] : NULL;
    c->same = c->same && use && use->column->node == node && use->word == word &&
              use->payload == payload && use->task == task;
    c->at++;
    return 0;
}

/* A gang that has not suspended yet has a time at which a pass looks at it. */
static const char *stop_fault(const gang_sched *s, const struct gang__sliced *x)
{
    bool stops = x->state == GANG__SLICED_STOPS;
    if (x->gang && x->killed && !stops)
        return "is not suspending, and its kill is to be confirmed";
    if (x->gang && stops && x->left > 0 && !s->wake.slices && x->next_ns < x->matrix->due_ns)
        return "is suspending, and no pass comes in time";
    return NULL;
}

static gang_result check_gang(const gang_sched *s, const struct gang__sliced *x,
                              struct gang_error *error)
{
    struct count c = {x, 0, true};
    const struct gang__gang *g = x->gang;
    unsigned long long id = g ? (unsigned long long)g->job->id : 0;
    if (x->row >= x->matrix->rows)
        return BAD("job %llu is in a row that does not exist", id);
    if (g && (g->sliced != x || g->alloc != x->alloc))
        return BAD("job %llu: gang and matrix name different allocations", id);
    if (!g && !x->stopped && x->state == GANG__SLICED_RUNS && x->left > 0)
        return BAD("a detached gang is still counted as running");
    const char *fault = stop_fault(s, x);
    if (fault)
        return BAD("job %llu %s", id, fault);
    gang_result r = gang__timeshare_each(s->cluster, x->alloc, same_use, &c);
    if (r != GANG_OK)
        return BAD("the allocation of job %llu: %s", id, gang_strerror(r));
    if (!c.same || c.at != x->uses)
        return BAD("the shares lent to job %llu differ from those in the matrix", id);
    for (size_t i = 0; i < x->uses; i++)
        x->use[i].column->tentative_uses++;
    return GANG_OK;
}

/* The gangs of a row, and those that run, fit beside each other. */
static gang_result check_row(struct gang__matrix *m, uint32_t row, bool busy,
                             struct gang_error *error)
{
    bool any = false;
    gang__columns_reset(m, busy);
    for (const struct gang__sliced *x = m->first; x; x = x->next) {
        if (busy ? !gang__sliced_is_busy(x) : x->row != row)
            continue;
        any = true;
        if (!gang__columns_put_if_fits(x, busy))
            return BAD(busy ? "the running gangs do not fit beside each other"
                            : "gangs of row %" PRIu32 " do not fit beside each other",
                       row + 1);
    }
    return any || busy ? GANG_OK : BAD("row %" PRIu32 " is empty", row + 1);
}

/* check_gang() counted the uses of each column in `tentative_uses`. */
static gang_result check_columns(const gang_sched *s, struct gang__matrix *m,
                                 struct gang_error *error)
{
    for (size_t b = 0; b < m->columns.cap; b++)
        for (struct gang__hash_link *n = m->columns.bucket[b]; n; n = n->next) {
            struct gang__column *c = GANG__OF(struct gang__column, link, n);
            struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
            uint32_t there = c->tentative_uses;
            c->tentative_uses = 0;
            if (there != c->uses || c->detached_uses > c->uses)
                return BAD("a column counts %" PRIu32 " uses, and has %" PRIu32, c->uses, there);
            if (gang_alloc_get(s->cluster, c->held, &info) != GANG_OK)
                return BAD("the allocation of a column is gone");
        }
    return GANG_OK;
}

static gang_result check_matrix(const gang_sched *s, struct gang__matrix *m,
                                struct gang_error *error)
{
    gang_result r = GANG_OK;
    if (m->rows > 0 ? m->active >= m->rows : m->first != NULL)
        return BAD("row %" PRIu32 " of %" PRIu32 " is active", m->active + 1, m->rows);
    gang__slice_dry_run_begin((gang_sched *)s);
    for (const struct gang__sliced *x = m->first; x && r == GANG_OK; x = x->next)
        r = check_gang(s, x, error);
    if (r == GANG_OK)
        r = check_columns(s, m, error);
    for (uint32_t row = 0; r == GANG_OK && !s->wake.slices && row < m->rows; row++)
        r = check_row(m, row, false, error);
    return r == GANG_OK ? check_row(m, 0, true, error) : r;
}

gang_result gang__slice_check(gang_sched *s, struct gang_error *error)
{
    gang_result r = GANG_OK;
    for (struct gang__matrix *m = s->slice.matrices; m && r == GANG_OK; m = m->next)
        r = check_matrix(s, m, error);
    return r;
}
