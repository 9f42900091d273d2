import wave

import wandb
from PIL import Image

with wave.open("tone.wav", "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(8000)
    file.writeframes(b"\0\0" * 800)
frames = [Image.new("RGB", (8, 8), (i * 40, 0, 0)) for i in range(4)]
frames[0].save("clip.gif", save_all=True, append_images=frames[1:])
wandb.init(project="digits")
wandb.log({"tone": wandb.Audio("tone.wav", caption="a tone"), "clip": wandb.Video("clip.gif", format="gif"), "loss": 1})
wandb.log({"page": wandb.Html("<b>bold</b>"), "loss": 0.5})
