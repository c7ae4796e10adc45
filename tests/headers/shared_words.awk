# SPDX-License-Identifier: Apache-2.0
# Prints each shared word (an atomic member of a struct, or an atomic operation that is not one of
# base/atomic.h) whose comment does not name the other side: "a -> b", "pairs with", or "see X".
# A comment before a struct holds for all its members; one before a member also for the members that
# follow without a comment of their own.
function names_partner(text) { return text ~ /->|pairs? with|[Ss]ee / }
function trailing() { return match($0, /\/\*.*/) && names_partner(substr($0, RSTART)) }
function flush() { if (comment != "") { last = names_partner(comment); comment = "" } }

FNR == 1 { comment = ""; last = whole = inside = open = 0; since = 99 }
{ since = trailing() ? 0 : since + 1 }

# A comment on lines of its own.
open || /^ *\/\*/ {
    comment = open ? comment " " $0 : $0
    open = $0 !~ /\*\//
    if (!open && names_partner(comment))
        since = 0
    next
}
/^$/ { comment = ""; last = 0; next }
/^(typedef )?struct [a-z_]+ \{/ { flush(); whole = last; last = 0; inside = 1; next }
/^\}/ { inside = whole = last = 0; comment = ""; next }
inside && /^    .*(_Atomic\([^)]*\)|gang__a(32|64)) [^(]*;/ && !/gang__a(32|64) \*/ {
    flush()
    if (!whole && !last && !trailing())
        print FILENAME ":" FNR ":" $0
    next
}
inside && /;/ { comment = ""; last = 0; next }
/[^_]atomic_[a-z_]+_explicit\(/ && since > 5 { print FILENAME ":" FNR ":" $0 }
