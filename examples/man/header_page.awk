# SPDX-License-Identifier: Apache-2.0
# Turns the comments of one public header into a manual page of section 3, and writes one page for
# each function of the header that leads there: "man gang_sched_run" shows sched.h.
#   awk -v folder=FOLDER -v version=0.2.0 -f header_page.awk include/gangsched/sched.h
# It reads what our headers consist of: comments /** */ in the first column, each followed by what it
# describes, up to an empty line; sections /* ---- title ---- */; @file, @brief, @param, @return and
# @code in the comments. Comments inside of structs are shown as they stand.

function put(line) { page = page line "\n" }

function protect(text) { # what is a command to troff
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}

# `name` in bold, *word* in italics. A star or back-quote elsewhere stays.
function marked(text,    out, token) {
    while (match(text, /`[^`]+`|(^|[ (])\*[A-Za-z][^*]*\*/)) {
        token = substr(text, RSTART, RLENGTH)
        out = out protect(substr(text, 1, RSTART - 1))
        text = substr(text, RSTART + RLENGTH)
        if (token ~ /^`/) {
            out = out "\\fB" protect(substr(token, 2, length(token) - 2)) "\\fP"
        } else {
            match(token, /\*/)
            out = out substr(token, 1, RSTART - 1) \
                "\\fI" protect(substr(token, RSTART + 1, length(token) - RSTART - 1)) "\\fP"
        }
    }
    return out protect(text)
}

function put_text(text) { if (text != "") put(marked(text)) }

# One line of a comment, without its stars.
function put_line(line,    indent, at) {
    if (line ~ /^ *@code/) { put(".PP"); put(".EX"); in_code = 1; in_list = 0; return }
    if (line ~ /^ *@endcode/) { put(".EE"); in_code = 0; return }
    if (in_code) { put(protect(line)); return }
    if (line ~ /^ *$/) { put(".PP"); in_list = 0; return }
    match(line, /^ */)
    indent = RLENGTH
    line = substr(line, indent + 1)
    if (line ~ /^@(file|brief) /) return
    if (line ~ /^@param /) {
        sub(/^@param /, "", line)
        at = index(line " ", " ")
        put(".TP"); put(".I " protect(substr(line, 1, at - 1)))
        put_text(substr(line, at + 1))
        in_list = 1
        return
    }
    at = index(line, "@return ")
    if (at > 0) {
        put_line(sprintf("%*s%s", indent, "", substr(line, 1, at - 1)))
        put(".PP"); put(".B Returns:")
        in_list = 1
        put_text(substr(line, at + 8))
        return
    }
    if (line ~ /^- /) {
        put(indent > 3 ? ".IP \"  \\(bu\" 4" : ".IP \\(bu 2")
        in_list = 1
        put_text(substr(line, 3))
        return
    }
    if (indent == 0 && in_list) { put(".PP"); in_list = 0 }
    if (indent > 0 && in_list != 1 && match(line, /^[a-z_.]+  +/)) { # a term and its text in columns
        put(".TP"); put(".B " protect(substr(line, 1, index(line, " ") - 1)))
        put_text(substr(line, RLENGTH + 1))
        in_list = 2
        return
    }
    if (indent > last_indent && !in_list || indent > 0 && line ~ /^[a-zA-Z_, ]+: /) put(".br")
    last_indent = indent
    put_text(line)
}

function put_comment(    i) {
    in_list = in_code = last_indent = 0
    for (i = 1; i <= comment_lines; i++) put_line(comment[i])
    comment_lines = 0
}

function note_functions(line,    name) {
    while (match(line, /gang_[a-z0-9_]+\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        if (!(name in seen)) { seen[name] = 1; functions[++function_count] = name }
        return
    }
}

# What a comment describes, and the comment below it.
function put_block(    i) {
    if (code_lines > 0) {
        put(".PP"); put(".EX")
        for (i = 1; i <= code_lines; i++) put(protect(code[i]))
        put(".EE")
        if (comment_lines > 0) { put(".RS 4"); put_comment(); put(".RE") }
    } else if (comment_lines > 0) {
        put(".PP")
        put_comment()
    }
    code_lines = 0
}

FNR == 1 {
    header = FILENAME
    sub(/.*\//, "", header)
    name = header
    sub(/\.h$/, "", name)
    name = name == "gangsched" ? name : "gangsched_" name
}
/^#ifdef __cplusplus/ { skipping = 1 }
skipping { if (/^#endif/) skipping = 0; next }

/^\/\* -+ .* -+ \*\/$/ {
    put_block()
    title = $0
    gsub(/^\/\* -+ | -+ \*\/$/, "", title)
    put(".SH " toupper(protect(title)))
    next
}
/^\/\*\*/ && !in_comment && !in_body {
    put_block()
    in_comment = 1
    hanging = $0 ~ /^\/\*\* ./ # the text begins on the first line, the next ones are indented by one
    sub(/^\/\*\* ?/, " * ")
    first_line = 1
}
in_comment {
    last = $0 ~ /\*\/ *$/
    sub(/ *\*\/ *$/, "")
    if (match($0, / *@brief /)) brief = substr($0, RSTART + RLENGTH)
    if (hanging && !first_line) sub(/^ \*? ? ?/, "")
    else sub(/^ \*? ?/, "")
    if (!(first_line && $0 ~ /^ *$/) && !(last && $0 ~ /^ *$/)) comment[++comment_lines] = $0
    first_line = 0
    if (last) in_comment = 0
    next
}
/^ ?\/?\*/ && !in_body { next } # the licence
/^$/ && !in_body { put_block(); next }
code_lines == 0 && !in_body && /^(#(if|ifdef|ifndef|else|endif|include|undef)|extern|}|#define GANG(SCHED_|_API|_MUST|_[A-Z0-9_]*_INIT))/ {
    dropping = /\\$/
    next
}
dropping { dropping = /\\$/; next }
{
    if (/^GANG_API/ || continued) note_functions($0)
    continued = /^GANG_API/ && !/;/
    text = $0
    gsub(/ GANG_MUST_CHECK/, "", text)
    sub(/^GANG_API /, "", text)
    if (text !~ /^ *GANG_MUST_CHECK;$/) code[++code_lines] = text
    else sub(/$/, ";", code[code_lines])
    if (/^(struct|enum|typedef).*{$/) in_body = 1
    else if (in_body && /^}/) in_body = 0
}

END {
    put_block()
    file = folder "/" name ".3"
    printf ".\\\" SPDX-License-Identifier: Apache-2.0\n" > file
    printf ".TH %s 3 \"\" \"gangsched %s\" \"gangsched manual\"\n.SH NAME\n%s", toupper(name), version, name > file
    for (i = 1; i <= function_count; i++) printf ", %s", functions[i] > file
    printf " \\- %s\n.SH SYNOPSIS\n.B #include <gangsched/%s>\n.PP\n", protect(brief), header > file
    printf "Compile and link with the output of\n.BR \"pkg-config \\-\\-cflags \\-\\-libs gangsched\" .\n" > file
    printf ".SH DESCRIPTION\n%s", page > file
    printf ".SH SEE ALSO\n.BR gangsched (3),\n.BR gangsched (1)\n" > file
    close(file)
    for (i = 1; i <= function_count; i++) {
        file = folder "/" functions[i] ".3"
        printf ".so man3/%s.3\n", name > file
        close(file)
    }
}
