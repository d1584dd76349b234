# JupyterLab behind the platform's gateway. /workspace/.jupyter may add to this.
# ruff: noqa: F821 - `c` is Jupyter's
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.port = 8888
c.ServerApp.port_retries = 0
c.ServerApp.base_url = "/"
c.ServerApp.root_dir = "/workspace"
c.ServerApp.open_browser = False
c.ServerApp.quit_button = False  # the platform ends it

# Nobody gets here but through the gateway or an authorised tunnel, so Jupyter asks for nothing itself. What a browser
# sends across sites is still refused: XSRF checks stay on, and an Origin must be the Host that was asked for.
c.IdentityProvider.token = ""
c.PasswordIdentityProvider.hashed_password = ""
c.ServerApp.allow_remote_access = True
c.ServerApp.trust_xheaders = True

c.ServerApp.terminals_enabled = True
c.ServerApp.terminado_settings = {"shell_command": ["/bin/bash"]}
c.FileContentsManager.delete_to_trash = False  # nobody would empty it

# The image is read-only and calls nobody by itself.
c.LabApp.extension_manager = "readonly"
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.LabApp.news_url = None
