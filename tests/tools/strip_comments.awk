# SPDX-License-Identifier: Apache-2.0
# Prints C source without its comments; lines keep their numbers, literals stay as they are.
{
    line = $0
    out = ""
    while (line != "") {
        if (inside) {
            end = index(line, "*/")
            line = end ? substr(line, end + 2) : ""
            inside = !end
        } else if (!match(line, /\/\*|\/\/|"|'/)) {
            out = out line
            line = ""
        } else {
            token = substr(line, RSTART, RLENGTH)
            out = out substr(line, 1, RSTART - 1)
            line = substr(line, RSTART)
            if (token == "//") {
                line = ""
            } else if (token == "/*") {
                out = out " "
                inside = 1
                line = substr(line, 3)
            } else if (match(line, token == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : "^'([^'\\\\]|\\\\.)*'")) {
                out = out substr(line, 1, RLENGTH)
                line = substr(line, RLENGTH + 1)
            } else { # a lone quote, as in the text of an #error
                out = out token
                line = substr(line, 2)
            }
        }
    }
    print out
}
