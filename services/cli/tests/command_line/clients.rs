//! Programs in other languages, as their users would write them, against the real services: `tests/clients`, on stubs that
//! are made here. `tests/peers.sh` installs what they need; a test of what is missing says so and passes.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Place,
    security::{Certificates, add_key},
    silent::Silent,
    stderr, stdout,
    up::Up,
};

/// The packages, as their builders name their archives.
const PYTHON_PACKAGE: &str = "emend_client-0.1.0";
const TYPESCRIPT_PACKAGE: &str = "emend-client-0.1.0";

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A language: its folder in `tests/clients`, and the files there that say what is installed for it.
struct Language {
    name: &'static str,
    pins: &'static [&'static str],
}

const PYTHON: Language = Language {
    name: "python",
    pins: &["requirements.txt"],
};
const TYPESCRIPT: Language = Language {
    name: "typescript",
    pins: &["package.json", "package-lock.json"],
};
const GO: Language = Language {
    name: "go",
    pins: &["go.mod", "go.sum"],
};
const JAVA: Language = Language {
    name: "java",
    pins: &["pom.xml"],
};

impl Language {
    /// Its programs in the repository.
    fn sources(&self) -> PathBuf {
        root().join("tests/clients").join(self.name)
    }

    /// What is installed for it, if that is what its files name.
    #[expect(clippy::print_stdout, reason = "a test says that it did not run")]
    fn installed(&self) -> Option<PathBuf> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |target| root().join(target));
        let folder = target.join("peers/clients").join(self.name);
        let read = |name: &&str| fs::read_to_string(self.sources().join(name)).unwrap();
        let pins: String = self.pins.iter().map(read).collect();
        let is = fs::read_to_string(folder.join("installed")).is_ok_and(|installed| installed.trim() == pins.trim());
        if !is {
            println!(
                "NOT RUN: what a client in {} needs is not installed; tests/peers.sh installs it",
                self.name
            );
        }
        is.then(|| folder.canonicalize().unwrap())
    }

    /// A folder with its programs and the contracts, as a user has them.
    fn workplace(&self) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        copy(&self.sources(), place.path());
        copy(&root().join("proto"), &place.path().join("proto"));
        place
    }
}

/// Copies a folder without what was built in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if ["dist", "gen", "node_modules", "target"]
            .iter()
            .any(|built| name == *built)
        {
            continue;
        }
        let to = to.join(name);
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Runs a program to its end and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = stdout(&output) + &stderr(&output);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

/// `PATH` with folders before all others.
fn path_with<const N: usize>(first: [&Path; N]) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let first = first.into_iter().map(Path::to_path_buf);
    std::env::join_paths(first.chain(std::env::split_paths(&rest))).unwrap()
}

/// All files of a folder and those below it with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|is| is == extension) {
            found.push(path);
        }
    }
    found
}

/// Services for a client: one that answers, and one with another collection and a model that never does.
struct Services {
    quick: Up,
    slow: Up,
    _places: [Place; 2],
    /// The model of the one that never answers.
    silent: Silent,
    /// Where there is TLS: the authority of the services, and beside it the file of a key, without which they take no call.
    protection: Option<Certificates>,
}

impl Services {
    fn start(language: &str, protection: Option<Certificates>) -> Self {
        let places = [Place::new(), Place::new()];
        let silent = Silent::start();
        let mut environment = Vec::new();
        if let Some(files) = &protection {
            let keys = files.path("keys.toml");
            let key = add_key(
                &places[0],
                &keys,
                &["client", "--collections", "*", "--allow", "ask,ingest"],
            );
            fs::write(files.path("client.key"), key).unwrap();
            environment = vec![
                ("EMEND_TLS_CERT", files.path("server.pem")),
                ("EMEND_TLS_KEY", files.path("server.key")),
                ("EMEND_KEYS_FILE", keys),
                ("EMEND_CA", files.path("ca.pem")),
                ("EMEND_API_KEY_FILE", files.path("client.key")),
            ];
        }
        let emend = |place: &Place, arguments: &[&str]| {
            let mut command = place.emend(arguments);
            command.envs(environment.iter().map(|(name, file)| (name, file)));
            command
        };
        // A walk is traced where its trace goes somewhere, though nothing is there.
        let quick = Up::start(emend(&places[0], &["up"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"));
        let slow = Up::start(
            emend(&places[1], &["up"])
                .env("EMEND_LLM_URL", format!("{}/v1", silent.url()))
                .env("EMEND_LLM_MODEL", "silent")
                .env("EMEND_LLM_TIMEOUT", "60m")
                .env("EMEND_DEFAULT_TIMEOUT", "60m"),
        );
        for (place, up, collection) in [(&places[0], &quick, "only-here"), (&places[1], &slow, language)] {
            let docs = place.docs.path().to_str().unwrap();
            let url = up.url("retriever");
            run(&mut emend(
                place,
                &["ingest", "--url", url, "--collection", collection, docs],
            ));
        }
        Self {
            quick,
            slow,
            _places: places,
            silent,
            protection,
        }
    }

    /// Lets a client use services that are open, and such with TLS and keys.
    fn open_and_protected(language: &str, client: impl Fn(&Self)) {
        for protection in [None, Some(Certificates::new())] {
            client(&Self::start(language, protection));
        }
    }

    /// The authority and the key, where there are any.
    fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        let names = [("--ca", "ca.pem"), ("--api-key-file", "client.key")];
        let files = self
            .protection
            .iter()
            .flat_map(move |files| names.map(|(flag, name)| (flag, files.path(name))));
        files.map(|(flag, file)| (flag, file.display().to_string()))
    }

    /// Where the services are, as every program takes it.
    fn arguments(&self) -> Vec<String> {
        let (quick, slow) = (self.quick.address("retriever"), self.slow.address("retriever"));
        [
            ("--orchestrator", self.quick.address("orchestrator").to_owned()),
            ("--retriever", quick.to_owned()),
            ("--slow", self.slow.address("orchestrator").to_owned()),
            ("--balance", format!("{quick},{slow}")),
        ]
        .into_iter()
        .chain(self.files())
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect()
    }

    /// Has a program do all that it can. Of what never has an answer, it gives up one call by a deadline and one by itself,
    /// and the model is not kept waiting for anybody.
    fn are_used_by(&self, program: &mut Command) {
        let said = run(program.args(self.arguments()));
        assert!(said.contains("25 days"), "{said}");
        self.silent.is_left_by_all_of(2);
    }

    /// The orchestrator and the retriever that answer, and the files, as the programs for the packages take them.
    fn addresses(&self) -> Vec<String> {
        let addresses = ["orchestrator", "retriever"].map(|service| self.quick.address(service).to_owned());
        addresses
            .into_iter()
            .chain(self.files().map(|(_, file)| file))
            .collect()
    }
}

#[test]
fn a_client_in_python_does_all_that_the_contracts_offer() {
    let Some(installed) = PYTHON.installed() else { return };
    let Some(buf) = TYPESCRIPT.installed() else { return };
    let place = PYTHON.workplace();
    let path = path_with([&installed.join("venv/bin"), &buf.join("node_modules/.bin")]);
    // The stubs of its own compiler, and those of buf.
    let stubs = ["generate.sh", "generate_with_buf.sh"].map(|script| {
        run(Command::new("sh").arg(script).current_dir(&place).env("PATH", &path));
        let stubs = place.path().join(format!("made by {script}"));
        fs::rename(place.path().join("gen"), &stubs).unwrap();
        stubs
    });
    Services::open_and_protected(PYTHON.name, |services| {
        services.are_used_by(
            Command::new("python")
                .arg("client.py")
                .current_dir(&place)
                .env("PATH", &path)
                .env("PYTHONPATH", &stubs[usize::from(services.protection.is_some())]),
        );
    });
}

#[test]
fn a_client_in_typescript_does_all_that_the_contracts_offer() {
    let Some(installed) = TYPESCRIPT.installed() else {
        return;
    };
    let place = TYPESCRIPT.workplace();
    let modules = installed.join("node_modules");
    std::os::unix::fs::symlink(&modules, place.path().join("node_modules")).unwrap();
    let path = path_with([&modules.join(".bin")]);
    run(Command::new("sh")
        .arg("generate.sh")
        .current_dir(&place)
        .env("PATH", &path));
    run(Command::new("tsc").current_dir(&place).env("PATH", &path));
    Services::open_and_protected(TYPESCRIPT.name, |services| {
        services.are_used_by(Command::new("node").arg("dist/client.js").current_dir(&place));
    });
}

#[test]
fn a_client_in_go_does_all_that_the_contracts_offer() {
    let Some(installed) = GO.installed() else { return };
    let Some(buf) = TYPESCRIPT.installed() else { return };
    let place = GO.workplace();
    let path = path_with([&installed.join("bin"), &buf.join("node_modules/.bin")]);
    run(Command::new("sh")
        .arg("generate.sh")
        .current_dir(&place)
        .env("PATH", &path));
    run(Command::new("go")
        .args(["build", "-o", "client", "."])
        .current_dir(&place)
        .env("GOMODCACHE", installed.join("modules"))
        .env("GOCACHE", installed.join("build"))
        .env("GOPROXY", "off")
        .env("GOFLAGS", "-mod=readonly -modcacherw"));
    Services::open_and_protected(GO.name, |services| {
        services.are_used_by(&mut Command::new(place.path().join("client")));
    });
}

#[test]
fn a_client_in_java_does_all_that_the_contracts_offer() {
    let Some(installed) = JAVA.installed() else { return };
    let Some(buf) = TYPESCRIPT.installed() else { return };
    let place = JAVA.workplace();
    let repository = installed.join("repository");
    run(Command::new("mvn")
        .args(["-B", "-q", "--offline", "compile"])
        .arg(format!("-Dmaven.repo.local={}", repository.display()))
        .current_dir(&place));
    // The same with stubs of buf, by the programs that Maven fetched for its own.
    let bin = place.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, folder) in [
        ("protoc", "com/google/protobuf/protoc"),
        ("protoc-gen-grpc-java", "io/grpc/protoc-gen-grpc-java"),
    ] {
        let found = files(&repository.join(folder), "exe");
        fs::copy(&found[0], bin.join(name)).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    run(Command::new("sh")
        .arg("generate_with_buf.sh")
        .current_dir(&place)
        .env("PATH", path_with([&bin, &buf.join("node_modules/.bin")])));
    run(Command::new("javac")
        .args(["-d", "made by buf", "-cp", "target/lib/*", "src/main/java/Client.java"])
        .args(files(&place.path().join("gen"), "java"))
        .current_dir(&place));
    let classes = ["target/classes", "made by buf"];
    Services::open_and_protected(JAVA.name, |services| {
        let classes = classes[usize::from(services.protection.is_some())];
        services.are_used_by(
            Command::new("java")
                .args(["-cp", &format!("{classes}:target/lib/*"), "Client"])
                .current_dir(&place),
        );
    });
}

#[test]
fn the_package_for_python_is_built_installed_and_used() {
    let Some(installed) = PYTHON.installed() else { return };
    let place = PYTHON.workplace();
    // Nothing but what was installed is there to build it with and to install beside it.
    let wheels = installed.join("wheels");
    let pip = |python: &Path, arguments: &[&str]| {
        run(Command::new(python)
            .args(["-m", "pip", "--disable-pip-version-check"])
            .args(arguments)
            .current_dir(&place)
            .env("PIP_NO_INDEX", "1")
            .env("PIP_FIND_LINKS", &wheels))
    };
    let python = installed.join("venv/bin/python");
    // The source distribution, and wheels of the repository and of that distribution alone.
    run(Command::new(&python)
        .args([
            "-m",
            "hatchling",
            "build",
            "--target",
            "sdist",
            "--directory",
            "../../sdist",
        ])
        .current_dir(place.path().join("proto/python")));
    let listed = |archive: &str, module: &str| {
        let archive = place.path().join(archive);
        run(Command::new(&python).args(["-m", module, "-l"]).arg(archive))
    };
    let sdist = format!("sdist/{PYTHON_PACKAGE}.tar.gz");
    assert!(listed(&sdist, "tarfile").contains(&format!("{PYTHON_PACKAGE}/LICENSE")));
    run(Command::new(&python)
        .args(["-m", "tarfile", "-e", &sdist, "unpacked"])
        .current_dir(&place));
    let unpacked = format!("unpacked/{PYTHON_PACKAGE}");
    let wheel = format!("{PYTHON_PACKAGE}-py3-none-any.whl");
    for (source, folder) in [("proto/python", "of-repository"), (unpacked.as_str(), "of-sdist")] {
        pip(&python, &["wheel", "--no-deps", "--wheel-dir", folder, source]);
        let names = listed(&format!("{folder}/{wheel}"), "zipfile");
        for name in [
            "emend/__init__.py",
            "emend/py.typed",
            "emend/v1/orchestrator_pb2.pyi",
            "emend/v1/orchestrator_pb2_grpc.py",
            &format!("{PYTHON_PACKAGE}.dist-info/licenses/LICENSE"),
        ] {
            assert!(names.contains(name), "{folder} has no {name}:\n{names}");
        }
    }
    run(Command::new(&python).args(["-m", "venv", "fresh"]).current_dir(&place));
    let fresh = place.path().join("fresh/bin/python");
    pip(&fresh, &["install", &format!("of-sdist/{wheel}")]);
    Services::open_and_protected(PYTHON.name, |services| {
        let said = run(Command::new(&fresh)
            .arg("package.py")
            .args(services.addresses())
            .current_dir(&place));
        assert!(said.contains("25 days"), "{said}");
    });
}

#[test]
fn the_package_for_typescript_is_built_installed_and_used() {
    let Some(installed) = TYPESCRIPT.installed() else {
        return;
    };
    let place = TYPESCRIPT.workplace();
    let modules = installed.join("node_modules");
    let package = place.path().join("proto/typescript");
    std::os::unix::fs::symlink(&modules, package.join("node_modules")).unwrap();
    let path = path_with([&modules.join(".bin")]);
    let npm = |folder: &Path, arguments: &[&str]| {
        run(Command::new("npm")
            .args(["--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--cache"])
            .arg(installed.join("cache"))
            .args(arguments)
            .current_dir(folder)
            .env("PATH", &path))
    };
    npm(&package, &["run", "build"]);
    npm(&package, &["pack", "--pack-destination", ".."]);
    let packed = format!("proto/{TYPESCRIPT_PACKAGE}.tgz");
    let names = run(Command::new("tar").args(["-tzf", &packed]).current_dir(&place));
    for name in ["LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"] {
        assert!(
            names.contains(&format!("package/{name}\n")),
            "it has no {name}:\n{names}"
        );
    }
    // Into a project that has chosen versions of what the package needs.
    let project = place.path();
    npm(project, &["install", "--omit=dev", &format!("./{packed}")]);
    run(Command::new("tsc")
        .args([
            "--strict",
            "--skipLibCheck",
            "--target",
            "es2022",
            "--module",
            "nodenext",
        ])
        .args(["--types", "node", "--outDir", "dist", "package.ts"])
        .current_dir(project)
        .env("PATH", &path));
    Services::open_and_protected(TYPESCRIPT.name, |services| {
        let said = run(Command::new("node")
            .arg("dist/package.js")
            .args(services.addresses())
            .current_dir(project));
        assert!(said.contains("25 days"), "{said}");
    });
}
