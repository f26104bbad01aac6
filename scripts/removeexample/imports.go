package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tidy formats a Go file of which something was removed, and takes out the imports that only this had used.
func tidy(name, before, after string) (string, error) {
	had, err := usedNames(name, before)
	if err != nil {
		return "", err
	}
	has, err := usedNames(name, after)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, after, parser.ImportsOnly)
	if err != nil {
		return "", err
	}
	for _, spec := range slices.Backward(file.Imports) {
		if used := importName(spec); had[used] && !has[used] {
			line := files.Position(spec.Pos()).Line
			lines := strings.Split(after, "\n")
			after = strings.Join(slices.Delete(lines, line-1, line), "\n")
		}
	}
	formatted, err := format.Source(noImports.ReplaceAll([]byte(after), nil))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(formatted), nil
}

// noImports is what is left where all of a file's imports have gone.
var noImports = regexp.MustCompile(`(?m)^import \(\s*\)\n`)

// usedNames are those that a file looks something up in, which its imports are among.
func usedNames(name, text string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				names[x.Name] = true
			}
		}
		return true
	})
	return names, nil
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// importName is the name that an import goes by, or what its path lets expect; a wrong guess is used nowhere, and its
// import stays.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	where, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	if majorVersion.MatchString(path.Base(where)) {
		where = path.Dir(where)
	}
	return path.Base(where)
}
