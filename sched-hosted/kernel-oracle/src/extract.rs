// SPDX-License-Identifier: GPL-2.0-only
//! Takes definitions out of C source by their names, with the preprocessor conditions that they stand under.
//!
//! This is no C parser. It relies on what kernel style guarantees: a definition begins in the first column, and so
//! does the brace that ends it.

/// A definition found in a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its text, whole lines, without the conditions.
    pub text: String,
    /// The preprocessor lines that open the conditions around it, outermost first; one `#endif` closes each.
    pub conditions: Vec<Vec<String>>,
}

impl Definition {
    /// The definition inside its conditions, with a `#line` that says it is from `path`: text that can be compiled
    /// elsewhere under the same configuration.
    pub fn guarded(&self, path: &str) -> String {
        let mut out = String::new();
        for condition in &self.conditions {
            for line in condition {
                out.push_str(line);
                out.push('\n');
            }
        }
        out.push_str(&format!("#line {} \"{path}\"\n", self.line));
        out.push_str(&self.text);
        for _ in &self.conditions {
            out.push_str("#endif\n");
        }
        out
    }
}

/// All definitions of the function or variable `name` in `source`; more than one if conditions choose among them.
pub fn definitions(source: &str, name: &str) -> Vec<Definition> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    let mut conditions: Vec<Vec<String>> = Vec::new();
    let mut comment = false;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if !comment {
            track_conditions(line, &mut conditions);
            if names(line, name)
                && let Some(end) = end_of_definition(&lines, at)
            {
                let start = start_of_definition(&lines, at);
                let text: String =
                    lines[start..=end].iter().flat_map(|line| [line, "\n"]).collect();
                found.push(Definition { line: start + 1, text, conditions: conditions.clone() });
                at = end + 1;
                continue;
            }
        }
        comment = in_comment_after(line, comment);
        at += 1;
    }
    found
}

fn in_comment_after(line: &str, mut comment: bool) -> bool {
    let mut rest = line;
    loop {
        let mark = if comment { "*/" } else { "/*" };
        let Some(at) = rest.find(mark) else { return comment };
        comment = !comment;
        rest = &rest[at + 2..];
    }
}

fn track_conditions(line: &str, conditions: &mut Vec<Vec<String>>) {
    let Some(directive) = line.trim_start().strip_prefix('#') else { return };
    let directive = directive.trim_start();
    if directive.starts_with("if") {
        conditions.push(vec![line.to_string()]);
    } else if directive.starts_with("endif") {
        conditions.pop();
    } else if directive.starts_with("el")
        && let Some(condition) = conditions.last_mut()
    {
        condition.push(line.to_string());
    }
}

/// Whether `line` may be the one of a definition that bears its name.
fn names(line: &str, name: &str) -> bool {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return false;
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].trim_start();
        let inside = line[..at].contains('(') && !line[..at].ends_with("DEFINE_SCHED_CLASS(");
        !before.is_some_and(word)
            && !inside
            && !line[at + name.len()..].starts_with(word)
            && (after.starts_with(['(', '[', ')'])
                || after.starts_with('=') && !after.starts_with("=="))
    })
}

/// The last line of the definition named on line `at`; none if it is only declared or called there.
fn end_of_definition(lines: &[&str], at: usize) -> Option<usize> {
    for (i, line) in lines.iter().enumerate().skip(at) {
        let code = without_comment(line);
        if i > at && (code.is_empty() || code.starts_with('#')) {
            return None;
        }
        if code.ends_with(';') {
            return (line.contains('=') && i == at).then_some(i);
        }
        if code.starts_with('{') || code.ends_with("= {") {
            return lines[i..].iter().position(|line| line.starts_with('}')).map(|n| i + n);
        }
        if code.ends_with('}') {
            return Some(i);
        }
    }
    None
}

/// A line without the comment that ends it.
fn without_comment(line: &str) -> &str {
    let code = line.trim_end();
    match code.strip_suffix("*/").and_then(|code| code.rfind("/*")) {
        Some(at) => code[..at].trim_end(),
        None => code,
    }
}

/// The first line: a return type may stand on lines of its own.
fn start_of_definition(lines: &[&str], at: usize) -> usize {
    let mut start = at;
    while start > 0 {
        let above = lines[start - 1].trim_end();
        let part = above.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !part || above.ends_with([';', '}', ':', ')']) || above.contains("*/") {
            break;
        }
        start -= 1;
    }
    start
}

/// All functions that `source` defines, by name and with their text, in order.
pub fn functions(source: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    let mut comment = false;
    let mut at = 0;
    while at < lines.len() {
        if !comment
            && let Some(name) = function_name(lines[at])
            && let Some(end) = end_of_definition(&lines, at)
            && lines[at..=end]
                .iter()
                .any(|line| line.starts_with('{') || line.trim_end().ends_with('}'))
            && !lines[at].contains('=')
        {
            let start = start_of_definition(&lines, at);
            found.push((name.to_string(), lines[start..=end].join("\n")));
            at = end + 1;
            continue;
        }
        comment = in_comment_after(lines[at], comment);
        at += 1;
    }
    found
}

/// The name before the first parenthesis of a line that may begin a function.
fn function_name(line: &str) -> Option<&str> {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (before, _) = line.split_once('(')?;
    let start = before.rfind(|c: char| !word(c)).map_or(0, |at| at + 1);
    let name = &before[start..];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (is_name && !name.chars().all(|c| c.is_ascii_uppercase() || c == '_')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{definitions, functions};

    const SOURCE: &str = "\
/* one() is not here:
static int one(void) { return 0; }
*/
static int one(int a);

#ifdef CONFIG_X
static inline int
one(int a)
{
    if (two(a) == 1)
        return 1;
    return a;
}
#else
static inline int one(int a) { return 0; }
#endif

const u64 three = 3; /* not 4 */

static int two_or(int a,
          int b)
    __must_hold(b)
{
    return a;
}

DEFINE_SCHED_CLASS(four) = {
    .one    = one,
};

const int five[2] = {
 1, 2,
};
";

    #[test]
    fn definitions_come_with_their_conditions() {
        let ones = definitions(SOURCE, "one");
        assert_eq!(ones.len(), 2);
        assert!(ones[0].text.starts_with("static inline int\none(int a)\n{"), "{}", ones[0].text);
        assert_eq!(ones[0].line, 7);
        assert!(ones[0].guarded("x.c").starts_with("#ifdef CONFIG_X\n#line 7 \"x.c\"\nstatic"));
        assert!(ones[1].guarded("x.c").starts_with("#ifdef CONFIG_X\n#else\n"));
        assert!(ones[1].guarded("x.c").ends_with("{ return 0; }\n#endif\n"));
    }

    #[test]
    fn variables_and_classes_are_definitions_too() {
        assert_eq!(definitions(SOURCE, "three")[0].text, "const u64 three = 3; /* not 4 */\n");
        assert!(definitions(SOURCE, "four")[0].text.ends_with("= one,\n};\n"));
        assert!(definitions(SOURCE, "five")[0].text.ends_with("1, 2,\n};\n"));
        assert!(definitions(SOURCE, "two_or")[0].text.contains("__must_hold(b)\n{\n"));
    }

    #[test]
    fn what_is_only_declared_called_or_commented_is_none() {
        assert!(definitions(SOURCE, "two").is_empty());
        assert!(definitions(SOURCE, "a").is_empty());
        assert!(definitions("int six(void);\n", "six").is_empty());
        assert!(definitions("", "six").is_empty());
        assert!(definitions("int six(void)\n{\n", "six").is_empty(), "cut off");
    }

    #[test]
    fn functions_are_found_by_themselves() {
        let names: Vec<String> = functions(SOURCE).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["one", "one", "two_or"]);
    }
}
