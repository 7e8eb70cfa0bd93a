//! Chromium under the control of its developer tools: real keys, sizes of screens, and a record of requests and errors.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::fonts;

/// Time for an answer of the browser.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running browser with one page.
#[derive(Debug)]
pub struct DevTools {
    browser: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    last: u64,
    _folder: TempDir,
}

impl DevTools {
    /// Starts Chromium with an empty page.
    ///
    /// # Errors
    /// The browser cannot be installed or started.
    pub fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // The tools read from descriptor 3 and write to 4.
        let mut browser = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(warren_programs::program("chromium")?)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg("--remote-debugging-pipe")
            .env("HOME", folder.path())
            .env("FONTCONFIG_FILE", fonts(&folder)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Chromium cannot be started")?;
        let to = browser.stdin.take().context("no pipe to the browser")?;
        let mut lines = BufReader::new(browser.stdout.take().context("no pipe from the browser")?);
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            while lines.read_until(0, &mut text).is_ok_and(|length| length > 0) {
                text.pop();
                let Ok(message) = serde_json::from_slice(&text) else { return };
                text.clear();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut tools =
            Self { browser, to, from, events: VecDeque::new(), session: None, last: 0, _folder: folder };
        let page = tools.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = tools.call("Target.attachToTarget", &attach)?;
        tools.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            tools.call(&format!("{domain}.enable"), &json!({}))?;
        }
        tools.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }))?;
        Ok(tools)
    }

    /// Calls a method of the protocol.
    ///
    /// # Errors
    /// The browser refuses, has ended, or takes too long.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.last += 1;
        let number = self.last;
        let mut message = json!({ "id": number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut text = serde_json::to_vec(&message)?;
        text.push(0);
        self.to.write_all(&text)?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.from.recv_timeout(left).with_context(|| format!("no answer to {method}"))?;
            if message["id"] != number {
                self.events.push_back(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            }
            return Ok(message["result"].clone());
        }
    }

    /// Sets the size of the screen and the colour scheme.
    ///
    /// # Errors
    /// As [`DevTools::call`].
    pub fn screen(&mut self, width: u32, height: u32, scheme: &str) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", &features).map(drop)
    }

    /// Opens a page and waits until a script's value is true.
    ///
    /// # Errors
    /// As [`DevTools::call`]; or the value is never true.
    pub fn open(&mut self, address: &str, ready: &str) -> Result<()> {
        let opened = self.call("Page.navigate", &json!({ "url": address }))?;
        if let Some(error) = opened["errorText"].as_str() {
            bail!("{address}: {error}");
        }
        self.wait(ready)
    }

    /// Waits until a script's value is true.
    ///
    /// # Errors
    /// It is never true.
    pub fn wait(&mut self, script: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if self.value::<bool>(script)? {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("never true: {script}\n{:?}", self.events)
    }

    /// The value of a script in the page.
    ///
    /// # Errors
    /// The script fails, or its value is of another type.
    pub fn value<T: DeserializeOwned>(&mut self, script: &str) -> Result<T> {
        let parameters = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &parameters)?;
        if let Some(details) = answer.get("exceptionDetails") {
            bail!("{script}: {details}");
        }
        serde_json::from_value(answer["result"]["value"].clone()).with_context(|| script.to_owned())
    }

    /// Presses and releases a key, such as `Tab`, `Enter`, or a letter.
    ///
    /// # Errors
    /// As [`DevTools::call`].
    pub fn press(&mut self, key: &str) -> Result<()> {
        let (code, text) = match key {
            "Tab" => (9, String::new()),
            "Enter" => (13, "\r".to_owned()),
            letter => {
                (letter.to_ascii_uppercase().as_bytes().first().copied().unwrap_or(0), letter.to_owned())
            }
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.as_str().into();
            }
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Requests since the last call, by their addresses.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    /// Everything that the browser's console has: messages, exceptions, and violations of policies.
    pub fn complaints(&self) -> Vec<String> {
        let of_console = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        let said = self.events.iter().filter(|event| of_console.iter().any(|name| event["method"] == *name));
        said.map(|event| event["params"].to_string()).collect()
    }

    /// A picture of what is visible, as PNG in base64.
    ///
    /// # Errors
    /// As [`DevTools::call`].
    pub fn picture(&mut self) -> Result<String> {
        let picture = self.call("Page.captureScreenshot", &json!({}))?;
        Ok(picture["data"].as_str().context("no picture")?.to_owned())
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // A browser that has ended needs no end.
        self.browser.kill().ok();
        self.browser.wait().ok();
    }
}
