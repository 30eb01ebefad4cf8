//! An almost empty window of the same Tauri: what `cargo xtask bench window` measures ours against.

use tauri::{WebviewUrl, WebviewWindowBuilder};

fn main() {
    let built = tauri::Builder::default().setup(|app| {
        WebviewWindowBuilder::new(app, "bare", WebviewUrl::default())
            .title("Bare")
            .inner_size(1280.0, 800.0)
            .build()?;
        Ok(())
    });
    let context = tauri::generate_context!("examples/bare/tauri.conf.json");
    if let Err(why) = built.run(context) {
        eprintln!("the bare window does not open: {why}");
    }
}
