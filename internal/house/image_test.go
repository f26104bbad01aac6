package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"golang.org/x/mod/modfile"
)

// The image is built by the Go that go.mod asks for. Continuous integration takes what go.mod says, and names none itself.
func TestOneGoVersion(t *testing.T) {
	t.Parallel()
	mod, err := modfile.Parse("go.mod", readFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	series := regexp.MustCompile(`^\d+\.\d+`).FindString(mod.Go.Version)
	if got := firstMatch(t, "Dockerfile", `(?m)^FROM golang:(\S+) AS`); got != series {
		t.Errorf("Dockerfile builds with Go %s, go.mod asks for %s", got, series)
	}
	tools, err := modfile.Parse("tools.mod", readFile(t, "tools.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if tools.Go.Version != mod.Go.Version {
		t.Errorf("tools.mod asks for Go %s, go.mod for %s", tools.Go.Version, mod.Go.Version)
	}
	for _, name := range []string{".ci/run", "scripts/setup", "Makefile"} {
		for _, found := range regexp.MustCompile(`(?i)\bgo(?:lang)?[ :@v-]*(1\.\d+)`).FindAllStringSubmatch(string(readFile(t, name)), -1) {
			if found[1] != series {
				t.Errorf("%s names Go %s, go.mod asks for %s", name, found[1], series)
			}
		}
	}
}

// What the image promises: no front end fetched from elsewhere, no root, a check of its own, labels that say what it is.
func TestImage(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, "Dockerfile"))
	if strings.Contains(strings.ToLower(text), "# syntax=") {
		t.Error("Dockerfile has a syntax line, which fetches a front end before it builds")
	}
	for _, want := range []string{
		":nonroot", `HEALTHCHECK`, `["/server", "healthcheck"]`, "--mount=type=cache", "org.opencontainers.image.version", "org.opencontainers.image.source",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Dockerfile lacks %s", want)
		}
	}
}

// A composeFile is what of a compose file is held to rules.
type composeFile struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Ports       []string          `yaml:"ports"`
		ReadOnly    bool              `yaml:"read_only"`
		Restart     string            `yaml:"restart"`
		Profiles    []string          `yaml:"profiles"`
		Volumes     []any             `yaml:"volumes"` // strings, or mappings
		Tmpfs       []string          `yaml:"tmpfs"`
		Healthcheck struct {
			Test []string `yaml:"test"`
		} `yaml:"healthcheck"`
		DependsOn map[string]struct {
			Condition string `yaml:"condition"`
		} `yaml:"depends_on"`
		Networks map[string]struct {
			Address string `yaml:"ipv4_address"`
		} `yaml:"networks"`
	} `yaml:"services"`
}

func readCompose(t *testing.T, name string) composeFile {
	t.Helper()
	var file composeFile
	if err := yaml.Unmarshal(readFile(t, name), &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return file
}

// The proxy's address is fixed and alone trusted; nothing is published but to this machine; two servers wait for one migration.
func TestCompose(t *testing.T) {
	t.Parallel()
	services := readCompose(t, "docker-compose.yml").Services
	proxy := services["proxy"].Networks["default"].Address
	if !strings.HasSuffix(proxy, ".2") {
		t.Errorf("the proxy's address is %q", proxy)
	}
	for _, name := range []string{"server-1", "server-2"} {
		s := services[name]
		if s.Environment["TRUSTED_PROXIES"] != proxy || s.Environment["REPLICAS"] != "2" || !s.ReadOnly || len(s.Ports) > 0 {
			t.Errorf("%s: trusts %q, of %s replicas, read-only %v, ports %v", name, s.Environment["TRUSTED_PROXIES"], s.Environment["REPLICAS"], s.ReadOnly, s.Ports)
		}
		if s.DependsOn["migrate"].Condition != "service_completed_successfully" {
			t.Errorf("%s does not wait for the migrations", name)
		}
	}
	if !slices.Contains(services["postgres"].Volumes, "postgres:/var/lib/postgresql") {
		t.Errorf("PostgreSQL 18 keeps its files below /var/lib/postgresql, and the volumes are %q", services["postgres"].Volumes)
	}
	if !slices.Contains(services["redis"].Tmpfs, "/data") {
		t.Error("Redis leaves a volume without a name behind, which its image has at /data")
	}
	for name, s := range services {
		for other, wait := range s.DependsOn {
			// The servers' and the migrations' checks are the image's.
			checked := len(services[other].Healthcheck.Test) > 0 || strings.HasPrefix(other, "server-")
			if wait.Condition == "service_healthy" && !checked || wait.Condition == "" {
				t.Errorf("%s waits for %s, of which nothing tells whether it is healthy", name, other)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			}
		}
		if s.Restart == "" && name != "migrate" {
			t.Errorf("%s is not restarted", name)
		}
		if (name == "prometheus" || name == "grafana") != (len(s.Profiles) == 1) {
			t.Errorf("%s is in the profiles %v", name, s.Profiles)
		}
	}
}

// Over it, production leaves no default that matters, and no setting of development.
func TestComposeForProduction(t *testing.T) {
	t.Parallel()
	base, services := readCompose(t, "docker-compose.yml").Services, readCompose(t, "docker-compose.prod.yml").Services
	for _, name := range []string{"server-1", "server-2", "migrate"} {
		env := services[name].Environment
		if env["APP_ENV"] != "production" || !strings.HasPrefix(env["PUBLIC_URL"], "https://") {
			t.Errorf("%s runs in %q at %q", name, env["APP_ENV"], env["PUBLIC_URL"])
		}
		for _, setting := range []string{"PUBLIC_URL", "DATABASE_URL", "REDIS_URL", "OIDC_ISSUER", "OIDC_CLIENT_SECRET", "OIDC_ORG_CLAIM"} {
			if !strings.Contains(env[setting], ":?") {
				t.Errorf("%s: %s=%s demands nothing", name, setting, env[setting])
			}
		}
		for setting := range base[name].Environment {
			if strings.HasPrefix(setting, "DEV_") {
				t.Errorf("%s: %s is left from development", name, setting)
			}
		}
	}
}

// Whoever sets a setting in production's --env-file finds it set in the servers, but for those that these files decide.
func TestProductionPassesSettingsOn(t *testing.T) {
	t.Parallel()
	own := map[string]string{
		"APP_ENV":             "the file is that of production",
		"HTTP_ADDR":           "where the proxy and the health check look for the server",
		"ADMIN_ADDR":          "where Prometheus looks for the metrics, within the network",
		"PUBLIC_URL":          "https:// and SITE",
		"DATA_DIR":            "there is no embedded PostgreSQL",
		"DATABASE_URL":        "the container with POSTGRES_PASSWORD",
		"DATABASE_DIRECT_URL": "there is no pooler in front of it",
		"MIGRATE_ON_START":    "the container migrate does that",
		"REDIS_URL":           "the container with REDIS_PASSWORD",
		"REPLICAS":            "there are two servers",
		"TRUSTED_PROXIES":     "the proxy, by its fixed address",
		"DEV_ISSUER":          "refused in production",
	}
	passed := passedOn(t, "docker-compose.prod.yml")
	settings := regexp.MustCompile(`(?m)^#([A-Z0-9_]+)=`).FindAllStringSubmatch(string(readFile(t, ".env.example")), -1)
	if len(settings) < len(own) {
		t.Fatalf(".env.example has %d settings", len(settings))
	}
	known := map[string]bool{}
	for _, found := range settings {
		name := found[1]
		known[name] = true
		if why, isOwn := own[name]; isOwn == passed[name] {
			t.Errorf("%s: passed on is %t; own: %q", name, passed[name], why)
		}
	}
	for name := range own {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
}

// passedOn is which variables both servers have from the environment of Compose: without a value of the file's, or from one
// of the same name.
func passedOn(t *testing.T, name string) map[string]bool {
	t.Helper()
	var file struct {
		Services map[string]struct {
			Environment map[string]*string `yaml:"environment"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(readFile(t, name), &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	passed := map[string]bool{}
	for variable, value := range file.Services["server-1"].Environment {
		other, both := file.Services["server-2"].Environment[variable]
		same := both && (value == nil) == (other == nil) && (value == nil || *value == *other)
		passed[variable] = same && (value == nil || strings.HasPrefix(*value, "${"+variable+":"))
	}
	return passed
}

func firstMatch(t *testing.T, name, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(readFile(t, name))
	if found == nil {
		t.Fatalf("%s: nothing matches %s", name, pattern)
	}
	return string(found[1])
}
